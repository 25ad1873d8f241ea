/* A new batch of a prompt; `?dataset=` chooses its test cases, `?again=` begins with what another batch had. */
import { call } from "../api.js";
import { BatchForm } from "../batches/batch_form.js";
import { one, pageData } from "../dom.js";
import { bindKey } from "../keys.js";
import { toastError } from "../toast.js";

/** @type {{promptId: string, version: number | null, offers: import("../batches/version_rows.js").Offers}} */
const page = pageData("page");
const form = new BatchForm(one("[data-batch-form]", document, HTMLFormElement), page);
const asked = new URLSearchParams(location.search);

async function begin() {
  const again = asked.get("again");
  const [{ results }, batch] = await Promise.all([call(`prompts/${page.promptId}/datasets?limit=100`), again ? call(`batches/${again}`) : null]);
  if (batch) form.repeat(batch);
  form.offerDatasets(results, asked.get("dataset") ?? batch?.dataset?.id ?? "");
}

form.versions.load((asked.get("versions") ?? "").split(",").filter(Boolean).map((version) => ({ version, model: "" })));
bindKey("mod+enter", "Start", () => void form.send());
begin().catch(toastError);
call("models").then(
  ({ results }) => form.versions.offerModels(results.map((/** @type {{id: string}} */ { id }) => id)),
  // Without a list every version runs with its own model.
  () => {},
);
