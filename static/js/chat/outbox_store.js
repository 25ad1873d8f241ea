/* The outbox in this browser's database, one per person. Where there is none, it lives as long as the page. */

/** @typedef {import("./outbox.js").Waiting} Waiting */
/** @typedef {import("./outbox.js").Store} Store */

const TABLE = "outbox";

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
function answer(request) {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error));
  });
}

/** @param {string} person @returns {Promise<IDBDatabase>} */
function openDatabase(person) {
  const request = indexedDB.open(`chat-${person}`, 1);
  request.addEventListener("upgradeneeded", () => request.result.createObjectStore(TABLE, { keyPath: "id" }));
  return answer(request);
}

/** @param {string} person @returns {Store} */
export function outboxStore(person) {
  /** @type {Promise<IDBDatabase> | undefined} */
  let opening;
  /** @param {IDBTransactionMode} mode */
  const table = async (mode) => {
    opening ??= openDatabase(person);
    return (await opening).transaction(TABLE, mode).objectStore(TABLE);
  };
  return {
    all: async () => answer((await table("readonly")).getAll()),
    put: async (waiting) => void (await answer((await table("readwrite")).put(waiting))),
    remove: async (id) => void (await answer((await table("readwrite")).delete(id))),
  };
}
