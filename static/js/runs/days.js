/* Days of the viewer's own zone as moments that a server anywhere understands, and back. Pure. */

const DAY = /^(\d{4})-(\d\d)-(\d\d)$/;

/**
 * @param {string} day "2026-11-30", or "" for none
 * @param {number} later days to add
 * @returns {string} the moment at which that day begins here; "" for none
 */
function midnight(day, later) {
  const parts = DAY.exec(day);
  if (!parts) return "";
  return new Date(Number(parts[1]), Number(parts[2]) - 1, Number(parts[3]) + later).toISOString();
}

/** @param {string} moment @param {number} earlierMs @returns {string} the day here */
function dayOf(moment, earlierMs) {
  const at = new Date(new Date(moment).getTime() - earlierMs);
  if (!moment || Number.isNaN(at.getTime())) return "";
  const parts = [at.getFullYear(), at.getMonth() + 1, at.getDate()];
  return parts.map((part, index) => String(part).padStart(index === 0 ? 4 : 2, "0")).join("-");
}

/**
 * @param {string} first the first day that counts
 * @param {string} last the last one
 * @returns {[string, string]} the first moment that counts, and the first that does not any more
 */
export function moments(first, last) {
  return [midnight(first, 0), midnight(last, 1)];
}

/**
 * The other way round.
 * @param {string} since
 * @param {string} until
 * @returns {[string, string]}
 */
export function days(since, until) {
  return [dayOf(since, 0), dayOf(until, 1)];
}
