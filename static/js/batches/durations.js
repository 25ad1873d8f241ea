/* Lengths of time, rates and shares in words. Pure. */

const UNITS = /** @type {const} */ ([[86_400, "day"], [3600, "hour"], [60, "minute"]]);

/**
 * A duration that is guessed: one unit, or two where the first is small.
 * @param {number} seconds
 * @returns {string} "about 3 minutes", "less than 10 seconds"
 */
export function aboutWords(seconds) {
  if (seconds < 10) return "less than 10 seconds";
  if (seconds < 90) return `about ${Math.ceil(seconds / 10) * 10} seconds`;
  for (const [unit, name] of UNITS) {
    if (seconds < 1.5 * unit) continue;
    const count = seconds / unit;
    const rounded = count < 10 ? Math.round(count * 2) / 2 : Math.round(count);
    return `about ${rounded.toLocaleString()} ${name}s`;
  }
  return "about a minute and a half";
}

/**
 * @param {number} seconds measured
 * @returns {string} "840 ms", "3.2 s", "2 min 5 s"
 */
export function measuredWords(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60).toLocaleString()} min ${whole % 60} s`;
}

/**
 * A share that says all only of all and none only of none.
 * @param {number} part
 * @param {number} whole
 * @returns {string} "99.9 %"
 */
export function shareWords(part, whole) {
  if (whole === 0) return "–";
  const percent = (100 * part) / whole;
  if (part === whole || part === 0) return `${percent} %`;
  const shown = Math.min(99.9, Math.max(0.1, percent));
  return `${shown < 1 || shown > 99 ? shown.toFixed(1) : Math.round(shown)} %`;
}
