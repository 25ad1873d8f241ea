/* The texts of the open version as they stand in the page: what is selected in them, and what is marked. */
import { isBody, textsOf } from "../large/references.js";
import { canonical } from "../spec.js";
import { editorPosition, textOffset, withoutBlanks } from "./offsets.js";
import { markPassages } from "./passage_marks.js";

/** @typedef {import("../workbench.js").Workbench} Workbench */
/** @typedef {import("../large/text_slot.js").TextSlot} TextSlot */
/** @typedef {{text: number, start: number, end: number, unit: "utf16" | "bytes", quote: string}} Passage */
/** @typedef {import("../block.js").Block} Block */
/** @typedef {{index: number, label: string, isMade: boolean, readonly slot: TextSlot}} Place a text of the version, and where it is shown */
/** @typedef {{passage: Passage, box: DOMRect} | {problem: string}} Selected */
/** @typedef {{thread: any, active: boolean}} Marked */

const MOST = 2000;
const NAMES = /** @type {Record<string, string>} */ ({ system: "System", user: "User", assistant: "Assistant" });

/** Whether what is shown is what was saved. @param {any} now @param {any} saved @returns {boolean} */
function isClean(now, saved) {
  if (Array.isArray(saved)) return canonical(now) === canonical(saved);
  return isBody(saved) ? isBody(now) && now.body === saved.body : now === saved;
}

/**
 * A text of a block. Its editor may not be made yet: asking for `slot` makes it.
 * @param {Block} block
 * @param {number} text which one of the block
 * @param {{index: number, label: string}} place
 * @returns {Place}
 */
function placeIn(block, text, place) {
  return {
    ...place,
    isMade: block.isMade,
    get slot() {
      return block.fields()[text].slot;
    },
  };
}

export class Texts {
  /** @param {Workbench} bench */
  constructor(bench) {
    this.bench = bench;
    /** What was selected before the focus went elsewhere. @type {Selected | null} */
    this.lastSelected = null;
  }

  /**
   * Those of the saved version that stand in the page as they were saved. One that was edited does not.
   * @returns {Place[]}
   */
  get places() {
    const { saved, form } = this.bench;
    if (!saved) return [];
    const { system, messages } = form.blocks;
    const left = [...messages];
    /** @type {Place[]} */
    const found = [];
    let index = 0;
    const take = (/** @type {any} */ content, /** @type {Block | undefined} */ block, /** @type {string} */ label) => {
      const count = Array.isArray(content) ? textsOf({ messages: [{ content }] }).length : 1;
      for (let text = 0; block && text < count; text += 1) found.push(placeIn(block, text, { index: index + text, label }));
      index += count;
    };
    if (saved.system !== undefined) take(saved.system, isClean(system.read(), saved.system) ? system : undefined, NAMES.system);
    saved.messages.forEach((message, number) => {
      // A message that was moved in the editor is still the one that reads the same.
      const at = left.findIndex((block) => isClean(block.read(), message.content));
      const [block] = at < 0 ? [] : left.splice(at, 1);
      take(message.content, block, `${NAMES[message.role]}, message ${number + 1}`);
    });
    for (const name of /** @type {const} */ (["tools", "output_schema"])) {
      if (saved[name] === undefined) continue;
      const slot = form.parameters.json[name];
      if (isClean(slot.read(), saved[name])) found.push({ index, label: name === "tools" ? "Tools" : "Output schema", isMade: true, slot });
      index += 1;
    }
    return found;
  }

  /** @param {number | null} index */
  labelOf(index) {
    if (index === null) return "";
    return this.places.find((place) => place.index === index)?.label ?? `Text ${index + 1}`;
  }

  /**
   * The selected passage, or the line that the cursor is in.
   * @param {{line?: boolean}} [options] line: whether the line will do
   * @returns {Selected | null} null: nothing is selected
   */
  selected({ line = false } = {}) {
    for (const place of this.places) {
      if (!place.isMade) continue;
      const found = place.slot.box.hidden ? this.#inWindow(place, line) : this.#inEditor(place, line);
      if (found) return found;
    }
    return this.#elsewhere(line);
  }

  /* In a text that is not as it was saved. @param {boolean} line */
  #elsewhere(/** @type {boolean} */ line) {
    const { system, messages } = this.bench.form.blocks;
    const slots = [system, ...messages].flatMap((block) => (block.isMade ? block.fields().map(({ slot }) => slot) : []));
    const isMeant = slots.some(({ view }) => view.hasFocus && (line || !view.state.selection.main.empty));
    return isMeant ? { problem: "This text was changed since it was saved. Save a version first, then comment on it." } : null;
  }

  /** @param {Place} place @param {boolean} line */
  #inEditor(place, line) {
    const { view } = place.slot;
    if (!view.hasFocus) return null;
    let { from, to } = view.state.selection.main;
    if (from === to && line) ({ from, to } = view.state.doc.lineAt(from));
    if (from === to) return null;
    const text = place.slot.editor.read();
    const range = withoutBlanks(text, textOffset(text, from), textOffset(text, to));
    if (!range) return null;
    const ends = view.coordsAtPos(to) ?? view.dom.getBoundingClientRect();
    const box = new DOMRect(ends.left, ends.top, 0, ends.bottom - ends.top);
    return this.#checked({ text: place.index, ...range, unit: "utf16", quote: text.slice(range.start, range.end) }, box);
  }

  /** @param {Place} place @param {boolean} line */
  #inWindow(place, line) {
    const { reader } = place.slot;
    if (!reader) return null;
    const found = reader.selected() ?? (line && reader.element.contains(document.activeElement) ? reader.currentLine() : null);
    if (!found) return null;
    return this.#checked({ text: place.index, start: found.start, end: found.end, unit: "bytes", quote: found.quote }, found.box);
  }

  /** @param {Passage} passage @param {DOMRect} box */
  #checked(passage, box) {
    if (!passage.quote.trim()) return null;
    if ([...passage.quote].length > MOST) return { problem: `A comment is on at most ${MOST.toLocaleString()} characters. Select the part that matters most.` };
    return { passage, box };
  }

  /** @param {Marked[]} marked threads to mark, each where its passage is in this version */
  mark(marked) {
    const here = marked.filter(({ thread }) => thread.placement.text !== null);
    for (const place of this.places) {
      const mine = here.filter(({ thread }) => thread.placement.text === place.index);
      if (!place.isMade && mine.length === 0) continue;
      const state = (/** @type {Marked} */ { thread, active }) => (active ? "active" : thread.state === "resolved" ? "resolved" : thread.placement.state === "suggested" ? "suggested" : "open");
      if (place.slot.reader && place.slot.box.hidden) {
        place.slot.reader.mark(mine.map((each) => ({ ...each.thread.placement.bytes, id: each.thread.id, state: state(each) })));
        continue;
      }
      const text = place.slot.editor.read();
      const at = (/** @type {number} */ offset) => editorPosition(text, offset);
      markPassages(
        place.slot.view,
        mine.map((each) => ({ from: at(each.thread.placement.utf16.start), to: at(each.thread.placement.utf16.end), id: each.thread.id, state: state(each) })),
      );
    }
  }

  /**
   * Shows the passage of a thread and selects it. Answers whether it has a place in the page.
   * @param {any} thread
   */
  async reveal({ placement }) {
    const place = this.places.find(({ index }) => index === placement.text);
    if (!place) return false;
    if (place.slot.reader && place.slot.box.hidden) {
      place.slot.reader.element.scrollIntoView({ block: "nearest" });
      await place.slot.reader.revealByte(placement.bytes.start);
      place.slot.reader.focus();
      return true;
    }
    const { view } = place.slot;
    const text = place.slot.editor.read();
    const [from, to] = [editorPosition(text, placement.utf16.start), editorPosition(text, placement.utf16.end)];
    view.dom.closest("details")?.setAttribute("open", "");
    view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
    // The editor is as high as its text: what scrolls is the pane around it.
    const box = view.coordsAtPos(from);
    const pane = view.dom.closest(".editor-scroll");
    if (box && pane) pane.scrollTo({ top: pane.scrollTop + box.top - pane.getBoundingClientRect().top - pane.clientHeight / 3 });
    view.focus();
    return true;
  }
}
