/* Days as the viewer's calendar has them. Of 23, 24 or 25 hours: nothing here counts hours. */

/**
 * @param {Date} moment
 * @param {string} [timeZone] the viewer's own by default
 * @returns {string} "2026-03-29"
 */
export function dayOf(moment, timeZone) {
  const parts = new Intl.DateTimeFormat("en", { timeZone, year: "numeric", month: "2-digit", day: "2-digit" }).formatToParts(moment);
  const part = (/** @type {string} */ type) => parts.find((item) => item.type === type)?.value ?? "";
  return `${part("year").padStart(4, "0")}-${part("month")}-${part("day")}`;
}

/**
 * @param {string} day
 * @param {number} days
 * @returns {string} the day so many days later
 */
export function shiftDay(day, days) {
  const noon = new Date(`${day}T12:00:00Z`);
  noon.setUTCDate(noon.getUTCDate() + days);
  return noon.toISOString().slice(0, 10);
}

/**
 * @param {string} day
 * @param {string} today
 * @param {string} [locale]
 * @returns {string}
 */
export function dayWords(day, today, locale) {
  if (day === today) return "Today";
  if (day === shiftDay(today, -1)) return "Yesterday";
  const noon = new Date(`${day}T12:00:00Z`);
  const near = day > shiftDay(today, -7) && day < today;
  if (near) return new Intl.DateTimeFormat(locale, { weekday: "long", timeZone: "UTC" }).format(noon);
  const year = day.slice(0, 4) === today.slice(0, 4) ? undefined : "numeric";
  return new Intl.DateTimeFormat(locale, { weekday: "short", day: "numeric", month: "long", year, timeZone: "UTC" }).format(noon);
}
