/* One batch of a prompt. */
import { BatchPage } from "../batches/batch_page.js";
import { bindPageMenu } from "../batches/page_menu.js";
import { pageData } from "../dom.js";
import { showSaid } from "../flash.js";
import { toastError } from "../toast.js";

showSaid();
bindPageMenu("batch-menu");
new BatchPage(pageData("page")).open().catch(toastError);
