/* The text of a run as it arrives in pieces. Offsets count code points, so a lost or repeated piece is noticed. */

/** @param {string} text */
function codePoints(text) {
  let count = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd800 && unit < 0xdc00 && index + 1 < text.length) index += 1;
    count += 1;
  }
  return count;
}

export class RunText {
  constructor() {
    this.text = "";
    this.length = 0;
  }

  /** @param {string} text everything so far */
  reset(text) {
    this.text = text;
    this.length = codePoints(text);
  }

  /**
   * @param {number} offset code points before this piece
   * @param {string} piece
   * @returns {string | null} what is new; null if something before it is missing
   */
  append(offset, piece) {
    if (offset > this.length) return null;
    const known = this.length - offset;
    const fresh = known > 0 ? [...piece].slice(known).join("") : piece;
    this.text += fresh;
    this.length += codePoints(fresh);
    return fresh;
  }
}
