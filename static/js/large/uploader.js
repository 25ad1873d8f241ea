/* A file on its way to the store: read in a worker, announced, sent with progress, tried again after a cut, completed. */
import { ApiError, call, create } from "../api.js";
import { one } from "../dom.js";
import { MOST_BYTES, sizeWords } from "./sizes.js";
import { home } from "./text_home.js";

/** @typedef {(part: "read" | "send" | "check" | "wait", done: number) => void} OnProgress done: of 1 */
/** @typedef {{onProgress: OnProgress, signal: AbortSignal, near?: string}} Options near: SHA-256 of the text it was made from */
/** @typedef {{url: string, method: string, headers: Record<string, string>}} Target */

const PATIENCE_MS = [1000, 2000, 4000, 8000, 15_000, 30_000];
const MOST_TRIES = 20;
const POLL_MS = 400;

class CutError extends Error {}

class UploadError extends ApiError {
  /** @param {string} message */
  constructor(message) {
    super({ message, code: "upload_failed", status: 0 });
  }
}

/** @param {number} ms @param {AbortSignal} signal */
function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/**
 * What a file is: hash, lines, variables. Rejects with a sentence if it is no text.
 * @param {Blob} file
 * @param {OnProgress} onProgress
 * @param {AbortSignal} signal
 * @returns {Promise<Omit<import("./references.js").FileFacts, "name">>}
 */
function examine(file, onProgress, signal) {
  const address = one("[data-digest-worker]", document, HTMLElement).dataset.digestWorker ?? "";
  const worker = new Worker(address, { type: "module" });
  const answer = new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
    worker.addEventListener("error", () => reject(new UploadError("The file could not be read in this browser.")));
    worker.addEventListener("message", ({ data }) => {
      if (data.read !== undefined) onProgress("read", data.read / Math.max(1, file.size));
      if (data.failed) reject(new UploadError(`The file could not be read: ${data.failed}`));
      if (data.done) resolve(data.done);
    });
    worker.postMessage({ file });
  });
  return answer.finally(() => worker.terminate()).then((found) => {
    if (found.wrong === undefined) return found;
    const why = found.isUtf16 ? "It looks like UTF-16; save it as UTF-8." : "Nothing was sent.";
    throw new UploadError(`This is not UTF-8 text: byte ${found.wrong.toLocaleString()}, in line ${found.line.toLocaleString()}, belongs to no character. ${why}`);
  });
}

/**
 * @param {Target} target
 * @param {Blob} file
 * @param {OnProgress} onProgress
 * @param {AbortSignal} signal
 * @returns {Promise<number>} the status; rejects with CutError when the network failed
 */
function put(target, file, onProgress, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const stop = () => request.abort();
    signal.addEventListener("abort", stop);
    request.open(target.method, target.url);
    for (const [name, value] of Object.entries(target.headers)) {
      // The browser sets these two itself, to the same values.
      if (!/^(content-length|host)$/i.test(name)) request.setRequestHeader(name, value);
    }
    request.upload.addEventListener("progress", ({ loaded }) => onProgress("send", loaded / Math.max(1, file.size)));
    request.addEventListener("load", () => resolve(request.status));
    request.addEventListener("error", () => reject(new CutError()));
    request.addEventListener("abort", () => reject(signal.reason));
    request.addEventListener("loadend", () => signal.removeEventListener("abort", stop));
    request.send(file);
  });
}

/** @param {unknown} error */
function isCut(error) {
  return error instanceof CutError || (error instanceof ApiError && error.code === "unreachable");
}

/**
 * Waits until the network may be back: the browser's word for it, or a while.
 * @param {number} tries
 * @param {AbortSignal} signal
 */
async function patience(tries, signal) {
  const wait = pause(PATIENCE_MS[Math.min(tries, PATIENCE_MS.length - 1)], signal);
  const back = new Promise((resolve) => addEventListener("online", resolve, { once: true }));
  await Promise.race([wait, back]);
}

/** @param {string} id @param {AbortSignal} signal */
async function complete(id, signal) {
  let state = await call(`uploads/${id}/complete`, { method: "POST", signal });
  while (state.status === "processing" || state.status === "pending") {
    await pause(POLL_MS, signal);
    state = await call(`uploads/${id}`, { signal });
  }
  if (state.status === "failed") throw new UploadError(`${state.error?.message ?? "The file could not be stored."} Send it again.`);
  return state;
}

/**
 * One attempt: announces what is not announced or whose address expired, sends what is not sent, completes.
 * @param {{upload: any, sent: boolean}} done so far; kept from attempt to attempt
 * @param {Blob} file
 * @param {{sha256: string}} facts
 * @param {Options} options
 */
async function attempt(done, file, { sha256 }, { onProgress, signal, near }) {
  if (!done.upload || (!done.sent && Date.parse(done.upload.expires_at) < Date.now())) {
    const body = { size: file.size, sha256, ...(near ? { near } : {}) };
    done.upload = await create(`prompts/${home.promptId}/uploads`, body);
    done.sent = false;
  }
  if (!done.sent) {
    const status = await put(done.upload, file, onProgress, signal);
    if (status === 403) done.upload = null;
    if (status === 403 || status >= 500) throw new CutError();
    if (status >= 300) throw new UploadError(`The store refused the file (${status}). Nothing was saved.`);
    done.sent = true;
  }
  onProgress("check", 1);
  await complete(done.upload.id, signal);
}

/**
 * Sends and completes; an address that has expired is replaced, a cut is waited out.
 * @param {Blob} file
 * @param {{sha256: string}} facts
 * @param {Options} options
 * @returns {Promise<string>} the upload's id
 */
async function deliver(file, facts, options) {
  const { onProgress, signal } = options;
  /** @type {{upload: any, sent: boolean}} */
  const done = { upload: null, sent: false };
  for (let tries = 0; ; tries += 1) {
    try {
      await attempt(done, file, facts, options);
      return done.upload.id;
    } catch (error) {
      if (signal.aborted || !isCut(error)) throw error;
      if (tries >= MOST_TRIES) throw new UploadError("The store cannot be reached. Nothing was saved; try again.");
      onProgress("wait", 0);
      await patience(tries, signal);
    }
  }
}

/**
 * Sends a text to the store. A spec may then name it by its upload id.
 * @param {Blob} file
 * @param {Options & {name: string}} options
 * @returns {Promise<{upload: string}>}
 */
export async function upload(file, { name, onProgress, signal, near }) {
  if (file.size > MOST_BYTES) throw new UploadError(`${name} has ${sizeWords(file.size)}; a text may have ${sizeWords(MOST_BYTES)}.`);
  const facts = await examine(file, onProgress, signal);
  const id = await deliver(file, facts, { onProgress, signal, near });
  home.files[id] = { ...facts, name };
  return { upload: id };
}
