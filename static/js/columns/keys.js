/* The keys of the columns. */
import { bindKey } from "../keys.js";
import { LETTERS } from "./overrides.js";

/** @param {import("./board.js").Board} board */
export function bindColumnKeys(board) {
  bindKey("mod+enter", "Run all columns", () => void board.run());
  bindKey("r", "Run all columns", () => void board.run());
  bindKey("escape", "Stop all; in a field: back to its column", () => {
    // An open menu takes the key for itself.
    if (!document.querySelector(".menu:popover-open")) void board.stop();
  });
  for (const index of LETTERS.keys()) bindKey(String(index + 1), `To column ${LETTERS[index]}`, () => board.focus(index));
  bindKey("arrowleft", "To the column before", () => step(board, -1));
  bindKey("arrowright", "To the column after", () => step(board, 1));
  bindKey("[", "Previous answer of each column", () => board.walk(-1));
  bindKey("]", "Next answer of each column", () => board.walk(1));
  bindKey("d", "Differences on or off", () => board.differences.toggle());
  bindKey("k", "Keep the column as a version", () => {
    if (board.focused) board.onKeep(board.focused);
  });
}

/** @param {import("./board.js").Board} board @param {number} by */
function step(board, by) {
  const { focused, columns } = board;
  board.focus(focused ? Math.max(0, Math.min(columns.length - 1, columns.indexOf(focused) + by)) : 0);
}
