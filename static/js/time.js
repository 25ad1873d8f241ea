/* <time datetime data-relative>: "3 minutes ago" in the viewer's words, the exact time on hover. */

const words = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "narrow" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

/** @type {[number, number, Intl.RelativeTimeFormatUnit][]} up to so many seconds, in units of, named */
const STEPS = [
  [45, 1, "second"],
  [2700, 60, "minute"],
  [79_200, 3600, "hour"],
  [2_160_000, 86_400, "day"],
];

/**
 * @param {Date} moment
 * @param {Date} [now]
 * @returns {string}
 */
export function relative(moment, now = new Date()) {
  const seconds = (moment.getTime() - now.getTime()) / 1000;
  if (Math.abs(seconds) < 10) return "just now";
  const step = STEPS.find(([limit]) => Math.abs(seconds) < limit);
  return step ? words.format(Math.round(seconds / step[1]), step[2]) : day.format(moment);
}

/**
 * @param {HTMLTimeElement} element
 */
export function paintTime(element) {
  const moment = new Date(element.dateTime);
  if (Number.isNaN(moment.getTime())) return;
  element.textContent = relative(moment);
  element.title = exact.format(moment);
}

/**
 * @param {string} iso
 * @returns {HTMLTimeElement}
 */
export function timeElement(iso) {
  const element = document.createElement("time");
  element.dateTime = iso;
  element.dataset.relative = "";
  paintTime(element);
  return element;
}

/** All of the page. */
export function paintTimes() {
  document.querySelectorAll("time[data-relative]").forEach((item) => paintTime(/** @type {HTMLTimeElement} */ (item)));
}

export function bindTimes() {
  paintTimes();
  setInterval(paintTimes, 30_000);
}
