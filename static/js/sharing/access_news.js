/* A socket that tells at once when access changes. It only makes the next question come sooner; nothing rests on it. */
import { isFinal, STABLE_MS, waitBefore } from "../chat/backoff.js";

/** @param {string} path */
function addressOf(path) {
  const address = new URL(path, location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  return address;
}

/**
 * @param {string} path
 * @param {() => void} onNews something may have changed
 */
export function listen(path, onNews) {
  let attempt = 0;
  const connect = () => {
    const began = performance.now();
    const socket = new WebSocket(addressOf(path));
    socket.addEventListener("message", onNews);
    socket.addEventListener("close", ({ code }) => {
      if (performance.now() - began > STABLE_MS) attempt = 0;
      if (isFinal(code)) onNews();
      else setTimeout(connect, waitBefore(attempt, code));
      attempt += 1;
    });
  };
  connect();
}
