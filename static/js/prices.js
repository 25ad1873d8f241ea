/* What models cost, as the server says, and what a run cost by that. */

/** In USD for a million tokens. @typedef {{input_per_mtok: number, output_per_mtok: number}} Price */

/** @type {Map<string, Price>} */
const prices = new Map();

/** @param {{id: string, price?: Price | null}[]} models */
export function learnPrices(models) {
  for (const { id, price } of models) if (price) prices.set(id, price);
}

/** @param {string} model @returns {Price | null} null if nobody told */
export function priceOf(model) {
  return prices.get(model) ?? null;
}

/**
 * @param {Price | null} price
 * @param {number | null | undefined} input tokens
 * @param {number | null | undefined} output tokens
 * @returns {number | null} USD
 */
export function costOf(price, input, output) {
  if (!price || input === null || input === undefined || output === null || output === undefined) return null;
  return (input * Number(price.input_per_mtok) + output * Number(price.output_per_mtok)) / 1e6;
}

/**
 * USD in words, small amounts with two digits that say something.
 * @param {number} usd
 */
export function money(usd) {
  if (usd > 0 && usd < 0.000001) return "under $0.000001";
  const digits = usd > 0 && usd < 1 ? { maximumSignificantDigits: 2 } : { minimumFractionDigits: 2, maximumFractionDigits: 2 };
  return usd.toLocaleString(undefined, { style: "currency", currency: "USD", ...digits });
}
