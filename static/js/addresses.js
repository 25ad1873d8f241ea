/* The addresses of a prompt's pages. */

/** @param {Record<string, string | number | undefined>} values */
function query(values) {
  const given = Object.entries(values).flatMap(([name, value]) => (value === undefined || value === "" ? [] : [[name, String(value)]]));
  return given.length > 0 ? `?${new URLSearchParams(given)}` : "";
}

/**
 * @param {string} promptId
 * @param {number} number
 * @param {{branch?: string, run?: string}} [more] `branch`: which one is meant, where several end at this version
 */
export function versionPage(promptId, number, more = {}) {
  return `/prompts/${promptId}/versions/${number}/${query(more)}`;
}

/**
 * @param {string} promptId
 * @param {number | string} from
 * @param {number | string} to
 */
export function comparePage(promptId, from, to) {
  return `/prompts/${promptId}/compare/${query({ from, to })}`;
}

/**
 * Where columns are run side by side.
 * @param {string} promptId
 * @param {{comparison?: string, versions?: (number | string)[]}} [what] one that was run, or what to set up
 */
export function columnsPage(promptId, { comparison, versions } = {}) {
  return `/prompts/${promptId}/columns/${comparison ? `${comparison}/` : ""}${query({ versions: versions?.join(",") })}`;
}

/**
 * @param {string} promptId
 * @param {number | string} ours
 * @param {number | string} theirs
 */
export function mergePage(promptId, ours, theirs) {
  return `/prompts/${promptId}/merge/${query({ ours, theirs })}`;
}

/**
 * Where somebody is chosen to whom a version or a run is sent.
 * @param {"version" | "run"} kind
 * @param {string} id
 */
export function sendPage(kind, id) {
  return `/chat/send/${kind}/${id}/`;
}

/** @param {string} id */
export function runPage(id) {
  return `/runs/${id}/`;
}
