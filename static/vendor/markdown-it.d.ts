/* Types for the bundle: what the entry exports, and the type of what it reads a text into. */
import MarkdownIt from "markdown-it";

export default MarkdownIt;
export type Token = ReturnType<MarkdownIt["parse"]>[number];
