/* Texts of a spec that are named instead of written out: {body} of a version, {upload} of a file just sent. */

/** @typedef {{body: string, bytes?: number} | {upload: string}} Reference */
/** @typedef {{name: string, bytes: number, lines: number, longest: number, sha256: string, variables: string[]}} FileFacts what is known of an upload */

/**
 * @param {unknown} value
 * @returns {value is {body: string, bytes?: number}}
 */
export function isBody(value) {
  return typeof value === "object" && value !== null && typeof (/** @type {any} */ (value).body) === "string";
}

/**
 * @param {unknown} value
 * @returns {value is {upload: string}}
 */
export function isUpload(value) {
  return typeof value === "object" && value !== null && typeof (/** @type {any} */ (value).upload) === "string";
}

/**
 * A large text that was edited and is not sent yet: never the same as anything that is.
 * @param {unknown} value
 */
export function isUnsent(value) {
  return typeof value === "object" && value !== null && "unsent" in value;
}

/**
 * @param {unknown} value
 * @returns {value is Reference}
 */
export function isReference(value) {
  return isBody(value) || isUpload(value);
}

/**
 * A copy of a spec with each text changed. The order is the API's: system, messages, tools, output schema.
 * @template {Record<string, any>} S
 * @param {S} spec
 * @param {(text: any) => any} change
 * @returns {S}
 */
export function mapTexts(spec, change) {
  const content = (/** @type {any} */ value) => (Array.isArray(value) ? value.map((block) => changeBlock(block, change)) : change(value));
  /** @type {Record<string, any>} */
  const out = { ...spec };
  if (spec.system !== undefined) out.system = content(spec.system);
  out.messages = spec.messages.map((/** @type {any} */ message) => ({ ...message, content: content(message.content) }));
  for (const name of ["tools", "output_schema"]) if (spec[name] !== undefined) out[name] = change(spec[name]);
  return /** @type {S} */ (out);
}

/** @param {any} block @param {(text: any) => any} change */
function changeBlock(block, change) {
  const name = { text: "text", tool_result: "content" }[/** @type {string} */ (block?.type)];
  // A result may also be a list of blocks, which is no text of the version.
  return name && block[name] !== undefined && !Array.isArray(block[name]) ? { ...block, [name]: change(block[name]) } : block;
}

/**
 * Every text of a spec in the API's order: its place in the list is its `index` in the address of the text.
 * @param {Record<string, any>} spec
 * @returns {any[]}
 */
export function textsOf(spec) {
  /** @type {any[]} */
  const found = [];
  mapTexts(spec, (text) => {
    found.push(text);
    return text;
  });
  return found;
}
