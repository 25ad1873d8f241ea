/* The history of the workbench. A script of its own, so that rows are drawn before the editor has been read. */
import { one, pageData } from "../dom.js";
import { TreePane } from "../tree_pane.js";

export const pane = new TreePane(one("[data-history]", document, HTMLElement), pageData("history"));
