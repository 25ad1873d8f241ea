/* The live status page: asks /status.json every two seconds while it is looked at, and says so when it gets no answer. */
import { drawChart } from "./charts.js";

const EVERY_MS = 2000;
const SPAN_S = 300;
const TIERS = ["internal", "pro", "free"];
const COLORS = { internal: "--internal", pro: "--accent", free: "--free" };

/** @typedef {Record<string, any>} Json */

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {string} name @param {string} [className] @param {...(Node | string)} children */
function el(name, className = "", ...children) {
  const element = document.createElement(name);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

const number = (/** @type {number} */ value) => value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 });
const seconds = (/** @type {number} */ value) => (value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(value < 10 ? 1 : 0)} s`);
const orDash = (/** @type {number | null | undefined} */ value, /** @type {(value: number) => string} */ format) => (value === null || value === undefined ? "–" : format(value));

/** @param {HTMLElement} list @param {[string, string][]} entries */
function fillNumbers(list, entries) {
  list.replaceChildren(...entries.map(([name, value]) => el("div", "", el("dt", "", name), el("dd", "", value))));
}

/** @param {string} caption @param {[string, string][]} columns name and class @param {Node[][]} rows */
function table(caption, columns, rows) {
  const head = el("tr", "", ...columns.map(([name, className]) => el("th", className, name)));
  for (const cell of head.children) cell.setAttribute("scope", "col");
  const body = rows.map((cells) => el("tr", "", ...cells));
  const box = el("div", "scroll", el("table", "", el("thead", "", head), el("tbody", "", ...body)));
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", caption);
  return box;
}

/** @param {number | null} used @param {number | null} all @param {string} what */
function share(used, all, what) {
  if (used === null || !all) return el("td", "", "–");
  const meter = /** @type {HTMLMeterElement} */ (el("meter"));
  [meter.min, meter.max, meter.value] = [0, all, used];
  meter.setAttribute("aria-label", what);
  return el("td", "", meter, ` ${number(used)} of ${number(all)}`);
}

const TONES = /** @type {Record<string, string>} */ ({ ready: "is-good", draining: "is-warn", verified: "is-good", suspect: "is-bad", dead: "is-bad" });

/** @param {Json} replica */
function replicaRow(replica) {
  return [
    el("td", "wrap", replica.replica),
    el("td", "", el("span", `chip ${TONES[replica.state] ?? "is-warn"}`, replica.state)),
    el("td", "", replica.engine),
    el("td", "wrap", replica.version ?? "–"),
    share(replica.running, replica.slots, "slots in use"),
    share(replica.kv_used, replica.kv_tokens, "KV cache in use"),
    el("td", "number", orDash(replica.decode_s_per_token, seconds)),
    el("td", "wrap faint", replica.reason),
  ];
}

/** @param {Json} model */
function modelSection(model) {
  const tone = model.is_ready ? "is-good" : "is-bad";
  const starting = model.capacity_starting_s ? ` – more is starting, about ${seconds(model.capacity_starting_s)}` : "";
  const queue = TIERS.map((tier) => {
    const { waiting, expected_wait_s: wait, admitted } = model.queue[tier];
    const shed = admitted < 1 ? `, ${Math.round(admitted * 100)} % admitted` : "";
    return el("span", "", `${tier}: ${number(waiting)} waiting, ${wait === null ? "nothing takes work" : `${seconds(wait)} expected`}${shed}`);
  });
  const columns = /** @type {[string, string][]} */ ([["Replica", ""], ["State", ""], ["Engine", ""], ["Version", ""], ["Slots", ""], ["KV cache, tokens", ""], ["One token", "number"], ["Why", ""]]);
  return el(
    "section",
    "",
    el("h2", "", model.id, " ", el("span", `chip ${tone}`, model.is_ready ? "ready" : "not ready"), el("span", "faint", starting)),
    el("div", "queue", ...queue),
    table(`Replicas of ${model.id}`, columns, model.replicas.map(replicaRow)),
  );
}

/** @param {Json[]} pools */
function embeddingsSection(pools) {
  const rows = pools.map((pool) => [
    el("td", "wrap", pool.id),
    el("td", "number", `${pool.healthy}`),
    el("td", "number", `${pool.idle}`),
    el("td", "number", TIERS.map((tier) => number(pool.queue[tier].waiting)).join(" / ")),
    el("td", "number", TIERS.map((tier) => number(pool.queue[tier].refused)).join(" / ")),
    el("td", "number", orDash(pool.mean_fill, number)),
    el("td", "number", number(pool.completed)),
    el("td", "number", number(pool.lost_calls + pool.failed_calls)),
  ]);
  const columns = /** @type {[string, string][]} */ ([["Pool", ""], ["Healthy", "number"], ["Idle", "number"], ["Waiting: internal / pro / free", "number"], ["Refused", "number"], ["Inputs a call", "number"], ["Done", "number"], ["Calls lost or failed", "number"]]);
  return el("section", "", el("h2", "", "Batch calls"), table("Batch calls", columns, rows));
}

/** @param {Json[]} history */
function drawCharts(history) {
  const times = history.map((sample) => sample.at);
  const of = (/** @type {string} */ name) => history.map((sample) => sample[name]);
  // Stacked: the tiers that are served last lie on top, drawn first.
  const stacked = TIERS.map((tier, index) => ({
    name: tier,
    color: COLORS[/** @type {keyof typeof COLORS} */ (tier)],
    area: true,
    latest: history.at(-1)?.waiting[tier],
    values: history.map((sample) => TIERS.slice(0, index + 1).reduce((sum, one) => sum + sample.waiting[one], 0)),
  })).reverse();
  const common = { times, span: SPAN_S };
  drawChart(byId("chart-waiting"), { ...common, title: "Waiting", series: stacked, format: number });
  drawChart(byId("chart-first-token"), {
    ...common,
    title: "Time to first token",
    format: seconds,
    series: [
      { name: "p99", color: "--warn", values: of("first_token_p99_s") },
      { name: "p50", color: "--accent", values: of("first_token_p50_s") },
    ],
  });
  drawChart(byId("chart-running"), {
    ...common,
    title: "Answers running",
    format: number,
    series: [
      { name: "running", color: "--accent", area: true, values: of("running") },
      { name: "slots", color: "--good", values: of("slots") },
    ],
  });
  drawChart(byId("chart-flow"), {
    ...common,
    title: "Each second",
    format: number,
    series: [
      { name: "requests", color: "--accent", values: of("requests_per_s") },
      { name: "turned away", color: "--bad", values: of("shed_per_s") },
    ],
  });
}

/** @param {Json} report */
function show(report) {
  const now = report.history.at(-1) ?? {};
  const ready = report.models.filter((/** @type {Json} */ model) => model.is_ready).length;
  const [state, tone] = report.is_draining ? ["draining", "is-warn"] : ready === report.models.length ? ["ready", "is-good"] : ready ? ["partly ready", "is-warn"] : ["not ready", "is-bad"];
  setState(state, tone);
  const waiting = Object.values(now.waiting ?? {}).reduce((sum, value) => sum + value, 0);
  fillNumbers(byId("numbers"), [
    ["Waiting", number(waiting)],
    ["Expected wait", now.expected_wait_s === null ? "no replica" : orDash(now.expected_wait_s, seconds)],
    ["Running / slots", `${number(now.running ?? 0)} / ${number(now.slots ?? 0)}`],
    ["First token p50", orDash(now.first_token_p50_s, seconds)],
    ["First token p99", orDash(now.first_token_p99_s, seconds)],
    ["Tokens/s", number(now.tokens_per_s ?? 0)],
  ]);
  const start = report.since_start;
  fillNumbers(byId("totals"), [
    ["Requests", number(start.requests)],
    ["Tokens written", number(start.output_tokens)],
    ["Turned away: overload", number(start.shed)],
    ["Turned away: own limit", number(start.over_limit)],
    ["Replicas replaced unseen", number(start.replaced)],
    ["Answers continued", number(start.continued)],
    ["Answers replayed", number(start.replayed)],
    ["Engine failures", number(start.engine_failures)],
    ["Callers gone", number(start.disconnects)],
    ["Up for", seconds(report.uptime_s)],
  ]);
  drawCharts(report.history);
  byId("models").replaceChildren(...report.models.map(modelSection));
  byId("embeddings").replaceChildren(...(report.embeddings.length > 0 ? [embeddingsSection(report.embeddings)] : []));
  byId("age").textContent = `as of ${new Date(report.at * 1000).toLocaleTimeString()}`;
}

/** @param {string} text @param {string} tone */
function setState(text, tone) {
  const chip = byId("state");
  // Only a change is announced.
  if (chip.textContent !== text) chip.textContent = text;
  chip.className = `chip ${tone}`;
}

async function refresh() {
  try {
    const answer = await fetch("/status.json", { signal: AbortSignal.timeout(EVERY_MS * 2) });
    if (!answer.ok) throw new Error(String(answer.status));
    show(await answer.json());
  } catch {
    setState("no answer from the service", "is-bad");
  }
}

async function watch() {
  for (;;) {
    if (!document.hidden) await refresh();
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
}

void watch();
