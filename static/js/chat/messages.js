/* The messages of one conversation, each once: by id, in the order of seq, and a higher version wins. */

/**
 * @typedef {{
 *   id: string, conversation: string, seq: number, sender: string, client_msg_id: string, body: string | null,
 *   reference: {kind: string, id: string} | null, version: number, created_at: string, edited_at: string | null,
 *   deleted: boolean,
 * }} Message
 */

export class Messages {
  constructor() {
    /** @type {Map<string, Message>} */
    this.byId = new Map();
    /** In the order of seq. @type {Message[]} */
    this.ordered = [];
  }

  /**
   * @param {Message} message
   * @returns {"new" | "changed" | "known"} "known": a repeat, or older than what is here
   */
  put(message) {
    const before = this.byId.get(message.id);
    if (before && before.version >= message.version) return "known";
    this.byId.set(message.id, message);
    if (before) {
      this.ordered[this.ordered.indexOf(before)] = message;
      return "changed";
    }
    let place = this.ordered.length;
    while (place > 0 && this.ordered[place - 1].seq > message.seq) place -= 1;
    this.ordered.splice(place, 0, message);
    return "new";
  }

  /** @returns {Message | undefined} */
  get last() {
    return this.ordered.at(-1);
  }

  clear() {
    this.byId.clear();
    this.ordered = [];
  }
}

/**
 * How far an own message is.
 * @param {number} seq
 * @param {{delivered: number, read: number}} peer up to where the other one is
 * @returns {"sent" | "delivered" | "read"}
 */
export function markOf(seq, { delivered, read }) {
  if (seq <= read) return "read";
  return seq <= delivered ? "delivered" : "sent";
}
