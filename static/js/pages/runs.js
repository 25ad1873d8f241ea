/* Run history: filters that apply at once, rows that follow what goes on, and a stop of several at once. */
import { call } from "../api.js";
import { one } from "../dom.js";
import { sayNext, showSaid } from "../flash.js";
import { days, moments } from "../runs/days.js";
import { RunRows } from "../runs/run_rows.js";
import { toastError } from "../toast.js";

const form = one("[data-runs-filter]", document, HTMLFormElement);
const since = one("[name=since]", form, HTMLInputElement);
const until = one("[name=until]", form, HTMLInputElement);

showSaid();
[since.value, until.value] = days(since.dataset.moment ?? "", until.dataset.moment ?? "");

/** Leaves out what does not narrow, so that addresses stay short. */
function apply() {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value && name !== "since" && name !== "until") query.set(name, String(value));
  const [from, to] = moments(since.value, until.value);
  if (from) query.set("since", from);
  if (to) query.set("until", to);
  const text = query.toString();
  location.assign(text ? `?${text}` : "./");
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  apply();
});
for (const name of ["status", "kind"]) one(`[name=${name}]`, form, HTMLSelectElement).addEventListener("change", apply);
for (const field of form.querySelectorAll("[name=model], [name=version]")) field.addEventListener("change", apply);

if (document.querySelector("[data-runs-bulk]")) {
  const rows = new RunRows(async (ids) => {
    try {
      const { results } = await call("runs/cancel", { method: "POST", body: { ids } });
      sayNext(results.length === 1 ? "Stopped one run." : `Stopped ${results.length} runs.`);
      location.reload();
    } catch (error) {
      toastError(error);
    }
  });
  rows.follow();
}
