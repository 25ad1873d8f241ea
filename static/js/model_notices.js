/* What the server says about a model before anybody judges it, shown where it is chosen and under what it wrote. */

/** @type {Map<string, string>} */
const notices = new Map();
/** By place: the model that it is about. @type {Map<HTMLElement, string>} */
const places = new Map();

/** @param {HTMLElement} place @param {string} model */
function paint(place, model) {
  const text = notices.get(model) ?? "";
  if (place.textContent !== text) place.textContent = text;
  place.hidden = !text;
}

/** @param {{id: string, notice?: string | null}[]} models */
export function learnNotices(models) {
  for (const { id, notice } of models) if (notice) notices.set(id, notice);
  for (const [place, model] of places) paint(place, model);
}

/**
 * Shows what is known of a model, now and when more is learned.
 * @param {HTMLElement} place
 * @param {string} model
 */
export function showNotice(place, model) {
  places.set(place, model);
  paint(place, model);
}
