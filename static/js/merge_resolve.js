/* What a person chose for each conflict, put into the merged spec. Plain data, no document. */

/** @typedef {import("./spec.js").Spec} Spec */
/** @typedef {import("./spec.js").Message} Message */
/** @typedef {{text: string, base: string | null, theirs: string | null}} Chunk */
/** @typedef {{place: string, kind: "field" | "text" | "message", base: any, ours: any, theirs: any, chunks: Chunk[]}} Conflict */
/** @typedef {{how: "ours" | "theirs" | "both"} | {how: "edit", text: string}} Choice */
/** @typedef {{key: string, conflict: Conflict, chunk: number | null, base: unknown, ours: unknown, theirs: unknown, takesBoth: boolean, asJson: boolean}} Question */

/** @param {unknown} value */
const isText = (value) => typeof value === "string" || value === null || value === undefined;

/** @param {Message | null} message @returns {unknown} what a person reads of it */
function shownMessage(message) {
  return message && typeof message.content === "string" ? message.content : message;
}

/**
 * One question for each thing that both sides changed.
 * @param {Conflict[]} conflicts
 * @returns {Question[]}
 */
export function questions(conflicts) {
  return conflicts.flatMap((conflict) => (conflict.kind === "text" ? chunkQuestions(conflict) : [wholeQuestion(conflict)]));
}

/** @param {Conflict} conflict @returns {Question[]} */
function chunkQuestions(conflict) {
  return conflict.chunks.flatMap((chunk, index) => {
    if (chunk.theirs === null || chunk.theirs === undefined) return [];
    const { base, text: ours, theirs } = chunk;
    return [{ key: `${conflict.place}#${index}`, conflict, chunk: index, base, ours, theirs, takesBoth: true, asJson: false }];
  });
}

/** @param {Conflict} conflict @returns {Question} */
function wholeQuestion(conflict) {
  const { place, kind } = conflict;
  const sides = [conflict.base, conflict.ours, conflict.theirs].map((side) => (kind === "message" ? shownMessage(side) : side));
  const [base, ours, theirs] = sides;
  const takesBoth = kind === "message" && !!conflict.ours && !!conflict.theirs;
  return { key: place, conflict, chunk: null, base, ours, theirs, takesBoth, asJson: !sides.every(isText) };
}

/** @param {string} ours @param {string} theirs */
function joined(ours, theirs) {
  return ours && theirs && !ours.endsWith("\n") ? `${ours}\n${theirs}` : ours + theirs;
}

/**
 * @param {Chunk} chunk
 * @param {Choice | undefined} choice
 */
function chunkText(chunk, choice) {
  if (choice?.how === "edit") return choice.text;
  if (choice?.how === "theirs") return chunk.theirs ?? "";
  return choice?.how === "both" ? joined(chunk.text, chunk.theirs ?? "") : chunk.text;
}

/**
 * What stands in the place of a conflict: no value, one, or two messages.
 * @param {Conflict} conflict
 * @param {Map<string, Choice>} choices
 * @returns {any[]}
 */
function chosen(conflict, choices) {
  const { place, kind, ours, theirs } = conflict;
  if (kind === "text") {
    const text = conflict.chunks.map((chunk, index) => chunkText(chunk, choices.get(`${place}#${index}`))).join("");
    return [text];
  }
  const choice = choices.get(place);
  const present = (/** @type {any[]} */ values) => values.filter((value) => value !== null && value !== undefined);
  if (choice?.how === "edit") return [edited(conflict, choice.text)];
  if (choice?.how === "both") return present([ours, theirs]);
  return present([choice?.how === "theirs" ? theirs : ours]);
}

/** @param {Conflict} conflict @param {string} text @throws {SyntaxError} if it has to be JSON and is not */
function edited({ kind, base, ours, theirs }, text) {
  const message = ours ?? theirs;
  if (kind === "message" && [base, ours, theirs].every((side) => isText(shownMessage(side)))) return { ...message, content: text };
  return [base, ours, theirs].every(isText) ? text : JSON.parse(text);
}

/**
 * The merged spec with every choice in it; where none was made, our side stands.
 * @param {Spec} merged
 * @param {Conflict[]} conflicts
 * @param {Map<string, Choice>} choices
 * @returns {Spec}
 * @throws {SyntaxError} if an edited value has to be JSON and is not
 */
export function resolved(merged, conflicts, choices) {
  /** @type {Spec} */
  const spec = { ...merged, messages: [...merged.messages] };
  // From the last message on, so that the places of those before stay true.
  for (const conflict of [...conflicts].reverse()) {
    const values = chosen(conflict, choices);
    const [field, index] = conflict.place.split(".");
    if (field === "messages") {
      const at = Number(index);
      const messages = conflict.kind === "text" ? [{ ...spec.messages[at], content: values[0] }] : values;
      spec.messages.splice(at, 1, ...messages);
    } else if (values.length === 0) delete spec[field];
    else [spec[field]] = values;
  }
  return spec;
}
