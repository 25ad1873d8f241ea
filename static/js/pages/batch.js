/* One batch of a prompt. */
import { BatchPage } from "../batches/batch_page.js";
import { pageData } from "../dom.js";
import { showSaid } from "../flash.js";
import { toastError } from "../toast.js";

showSaid();
new BatchPage(pageData("page")).open().catch(toastError);
