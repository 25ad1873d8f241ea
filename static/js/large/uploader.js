/* A file on its way to the store: read in a worker, announced, sent with progress, gone on with after a cut, completed. */
import { ApiError, call, create, newKey } from "../api.js";
import { one } from "../dom.js";
import { bytesThere } from "./parts.js";
import { MOST_BYTES, sizeWords } from "./sizes.js";
import { home } from "./text_home.js";

/** @typedef {(part: "read" | "send" | "check" | "wait", done: number) => void} OnProgress done: of 1 */
/** @typedef {{onProgress: OnProgress, signal: AbortSignal}} Options */
/** @typedef {{announce: string, items: string, more: Record<string, unknown>}} Door where a file is announced (and with what more than its size and hashes), and asked for by its id */
/** @typedef {{url: string, method: string, headers: Record<string, string>}} Target */
/** @typedef {{facts: Omit<import("./references.js").FileFacts, "name">, parts: string[]}} Examined parts: SHA-256 of each, if there are some */
/**
 * What is known of an upload from attempt to attempt. There is no answer before it is announced; an old one may name
 * addresses that have expired and parts that have arrived since.
 * @typedef {{key: string, answer: any, isOld: boolean, isSent: boolean, there: number}} Journey there: bytes that have arrived
 */

const PATIENCE_MS = [1000, 2000, 4000, 8000, 15_000, 30_000];
const MOST_TRIES = 20;
const POLL_MS = 400;
/** The server reads what has just been completed to its end; it is asked again so often. */
const MOST_CANCELS = 10;

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
 * What a file is: hash, lines, variables. Rejects with a sentence if it is no text, unless any bytes will do.
 * @param {Blob} file
 * @param {Options} options
 * @param {{anyBytes?: boolean}} [kind]
 * @returns {Promise<Examined>}
 */
function examine(file, { onProgress, signal }, { anyBytes = false } = {}) {
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
    worker.postMessage({ file, anyBytes });
  });
  return answer.finally(() => worker.terminate()).then((found) => {
    if (found.wrong === undefined) return found;
    const why = found.isUtf16 ? "It looks like UTF-16; save it as UTF-8." : "Nothing was sent.";
    throw new UploadError(`This is not UTF-8 text: byte ${found.wrong.toLocaleString()}, in line ${found.line.toLocaleString()}, belongs to no character. ${why}`);
  });
}

/**
 * @param {Target} target
 * @param {Blob} bytes
 * @param {(sent: number) => void} onSent bytes
 * @param {AbortSignal} signal
 * @returns {Promise<number>} the status; rejects with CutError when the network failed
 */
function put(target, bytes, onSent, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const stop = () => request.abort();
    signal.addEventListener("abort", stop);
    request.open(target.method, target.url);
    for (const [name, value] of Object.entries(target.headers)) {
      // The browser sets these two itself, to the same values.
      if (!/^(content-length|host)$/i.test(name)) request.setRequestHeader(name, value);
    }
    request.upload.addEventListener("progress", ({ loaded }) => onSent(loaded));
    request.addEventListener("load", () => resolve(request.status));
    request.addEventListener("error", () => reject(new CutError()));
    request.addEventListener("abort", () => reject(signal.reason));
    request.addEventListener("loadend", () => signal.removeEventListener("abort", stop));
    request.send(bytes);
  });
}

/**
 * Sends what has not arrived, part by part if it goes in parts.
 * @param {Journey} journey
 * @param {Blob} file
 * @param {Options} options
 */
async function send(journey, file, { onProgress, signal }) {
  const { answer } = journey;
  const parts = answer.parts ?? [{ ...answer, offset: 0, size: file.size, received: false }];
  for (const part of parts) {
    if (part.received) continue;
    const before = (journey.there = bytesThere(parts));
    const bytes = file.slice(part.offset, part.offset + part.size);
    const status = await put(part, bytes, (sent) => onProgress("send", (before + sent) / Math.max(1, file.size)), signal);
    // 403: the address expired. 404: the store awaits these parts no longer. Fresh addresses are asked for.
    if (status === 403 || status === 404 || status >= 500) throw new CutError();
    if (status >= 300) throw new UploadError(`The store refused the file (${status}). Nothing was saved.`);
    part.received = true;
  }
  journey.there = file.size;
  journey.isSent = true;
}

/** @param {unknown} error */
function isCut(error) {
  // not_uploaded: what was there is there no longer. storage_unavailable: the server cannot reach the store either.
  return error instanceof CutError || (error instanceof ApiError && ["unreachable", "not_uploaded", "storage_unavailable"].includes(error.code));
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

/** @param {string} address of what was announced @param {AbortSignal} signal */
async function complete(address, signal) {
  let state = await call(`${address}/complete`, { method: "POST", signal });
  while (state.status === "processing" || state.status === "pending") {
    await pause(POLL_MS, signal);
    state = await call(address, { signal });
  }
  if (state.status === "failed") throw new UploadError(`${state.error?.message ?? "The file could not be stored."} Send it again.`);
  return state;
}

/**
 * What the server knows of the upload, with fresh addresses; null if it has to be announced (again).
 * @param {Journey} journey
 * @param {Door} door
 * @param {AbortSignal} signal
 */
async function ask({ answer }, door, signal) {
  if (!answer) return null;
  try {
    const state = await call(`${door.items}/${answer.id}`, { signal });
    return state.url || !["pending", "failed"].includes(state.status) ? state : null;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/**
 * One attempt: announces or asks where it was, sends what has not arrived, completes.
 * @param {Journey} journey
 * @param {Blob} file
 * @param {Examined} examined
 * @param {Door} door
 * @param {Options} options
 */
async function attempt(journey, file, { facts, parts }, door, options) {
  const { signal, onProgress } = options;
  if (!journey.answer || journey.isOld) {
    const known = await ask(journey, door, signal);
    if (!known && journey.answer) Object.assign(journey, { key: newKey(), isSent: false });
    const body = { size: file.size, sha256: facts.sha256, ...door.more, ...(parts.length ? { part_sha256: parts } : {}) };
    journey.answer = known ?? (await create(door.announce, body, journey.key));
    journey.isOld = false;
    // The announcement itself is not cut off: without its answer nobody could take it back.
    signal.throwIfAborted();
  }
  if (journey.answer.url && !journey.isSent) await send(journey, file, options);
  onProgress("check", 1);
  await complete(`${door.items}/${journey.answer.id}`, signal);
}

/**
 * Takes back an upload that is not wanted any more. What fails here ends by itself, only later.
 * @param {string} address
 */
async function forget(address) {
  for (let tries = 0; tries < MOST_CANCELS; tries += 1) {
    try {
      await call(address, { method: "DELETE", keepalive: true });
      return;
    } catch (error) {
      if (!(error instanceof ApiError && error.code === "upload_processing")) return;
      await new Promise((resolve) => setTimeout(resolve, PATIENCE_MS[1]));
    }
  }
}

/**
 * Sends and completes; an address that has expired is replaced, a cut is waited out and gone on from.
 * @param {Blob} file
 * @param {Examined} examined
 * @param {Door} door
 * @param {Options} options
 * @returns {Promise<string>} the id that it was announced under
 */
async function deliver(file, examined, door, options) {
  const { onProgress, signal } = options;
  /** @type {Journey} */
  const journey = { key: newKey(), answer: null, isOld: false, isSent: false, there: 0 };
  for (let tries = 0; ; tries += 1) {
    const { there } = journey;
    try {
      await attempt(journey, file, examined, door, options);
      return journey.answer.id;
    } catch (error) {
      if (signal.aborted && journey.answer) void forget(`${door.items}/${journey.answer.id}`);
      if (signal.aborted || !isCut(error)) throw error;
      if (journey.there > there) tries = 0;
      if (error instanceof ApiError && error.code === "not_uploaded") Object.assign(journey, { isSent: false, there: 0 });
      if (tries >= MOST_TRIES) throw new UploadError("The store cannot be reached. Nothing was saved; try again.");
      journey.isOld = true;
      onProgress("wait", journey.there / Math.max(1, file.size));
      await patience(tries, signal);
    }
  }
}

/**
 * Sends a text to the store. A spec may then name it by its upload id.
 * @param {Blob} file
 * @param {Options & {name: string, near?: string}} options near: SHA-256 of the text it was made from
 * @returns {Promise<{upload: string}>}
 */
export async function upload(file, { name, onProgress, signal, near }) {
  if (file.size > MOST_BYTES) throw new UploadError(`${name} has ${sizeWords(file.size)}; a text may have ${sizeWords(MOST_BYTES)}.`);
  const examined = await examine(file, { onProgress, signal });
  const door = { announce: `prompts/${home.promptId}/uploads`, items: "uploads", more: near ? { near } : {} };
  const id = await deliver(file, examined, door, { onProgress, signal });
  home.files[id] = { ...examined.facts, name };
  return { upload: id };
}

/**
 * Sends a file with a whole tree to the store, and has it taken in.
 * @param {Blob} file
 * @param {"zip" | "json"} format
 * @param {Options} options
 * @returns {Promise<string>} the import's id
 */
export async function sendImport(file, format, options) {
  const examined = await examine(file, options, { anyBytes: true });
  return deliver(file, examined, { announce: "imports", items: "imports", more: { format } }, options);
}

/**
 * Sends a file of test cases to the store, and has its rows read.
 * @param {Blob} file
 * @param {string} promptId
 * @param {Record<string, unknown>} more its name, its format and what its columns are
 * @param {Options} options
 * @returns {Promise<string>} the id of the test cases; their rows are being read
 */
export async function sendCases(file, promptId, more, options) {
  const examined = await examine(file, options, { anyBytes: true });
  return deliver(file, examined, { announce: `prompts/${promptId}/datasets`, items: "datasets", more }, options);
}
