/* A model of the catalogue in words, and which ones a few typed letters mean. */
import { money } from "../prices.js";

/**
 * @typedef {object} CatalogueModel
 * @property {string} id
 * @property {number | null} [context]
 * @property {string} [provider]
 * @property {string | null} [notice]
 * @property {{input_per_mtok: number, output_per_mtok: number} | null} [price]
 * @property {boolean} [available]
 * @property {{waiting: number, running: number, slots: number | null, tokens_per_s: number | null} | null} [load]
 */

const PROVIDERS = /** @type {Record<string, string>} */ ({ "self-hosted": "this playground's server", anthropic: "Anthropic" });

/** @param {CatalogueModel} model @returns {string} "Anthropic · 200,000 tokens of context · $3.00 in, $15.00 out per million" */
export function factsOf({ context, provider, price, load, available }) {
  const facts = [
    provider && (PROVIDERS[provider] ?? provider),
    context && `${context.toLocaleString()} tokens of context`,
    price && `${money(price.input_per_mtok)} in, ${money(price.output_per_mtok)} out per million tokens`,
    available === false ? "does not answer" : load && loadWords(load),
  ];
  return facts.filter(Boolean).join(" · ");
}

/** @param {NonNullable<CatalogueModel["load"]>} load */
function loadWords({ waiting, running, slots, tokens_per_s: speed }) {
  const isFree = waiting === 0 && (slots === null || running < slots);
  const queue = waiting > 0 ? `${waiting.toLocaleString()} waiting` : isFree ? "free now" : "busy, none waiting";
  return speed ? `${queue}, ${Math.round(speed).toLocaleString()} tokens/s` : queue;
}

/**
 * Models by what is typed: each word has to be in the id or the provider; those that begin with it come first.
 * @param {CatalogueModel[]} models
 * @param {string} typed
 * @returns {CatalogueModel[]}
 */
export function matching(models, typed) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const found = models.filter(({ id, provider = "" }) => {
    const text = `${id} ${provider} ${PROVIDERS[provider] ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const rank = (/** @type {CatalogueModel} */ { id }) => (words.length > 0 && id.toLowerCase().startsWith(words[0]) ? 0 : 1);
  return found.sort((a, b) => rank(a) - rank(b));
}
