/* The REST API as our own pages call it: session cookie, CSRF header, errors with a sentence. */

const ROOT = "/api/v1/";

/** What the server said when it refused, or what we say when it could not be reached. */
export class ApiError extends Error {
  /**
   * @param {{message: string, code: string, status: number, field?: string, data?: Record<string, any>, kept?: string, next?: string, requestId?: string}} parts
   */
  constructor(parts) {
    super(parts.message);
    this.code = parts.code;
    this.status = parts.status;
    this.field = parts.field ?? "";
    this.data = parts.data ?? {};
    this.kept = parts.kept ?? "";
    this.next = parts.next ?? "";
    this.requestId = parts.requestId ?? "";
  }

  /** The message and, where there are any, what was kept and what to do. */
  get sentence() {
    return [this.message, this.kept, this.next].filter(Boolean).join(" ");
  }
}

/**
 * @param {string} name
 * @returns {string}
 */
export function cookie(name) {
  const pair = document.cookie.split("; ").find((item) => item.startsWith(`${name}=`));
  return pair ? decodeURIComponent(pair.slice(name.length + 1)) : "";
}

function csrfToken() {
  // The cookie is newer than the page after signing in again in another tab.
  return cookie("csrftoken") || (document.querySelector("meta[name=csrf-token]")?.getAttribute("content") ?? "");
}

/**
 * @param {string} path below /api/v1/, or an absolute address that `next` gave
 * @returns {string}
 */
export function address(path) {
  return path.startsWith("/") || path.startsWith("http") ? path : ROOT + path;
}

/**
 * @param {Response} response
 * @returns {Promise<ApiError>}
 */
async function refusal(response) {
  const requestId = response.headers.get("X-Request-ID") ?? "";
  try {
    const { error, request_id } = await response.json();
    return new ApiError({ ...error, status: response.status, requestId: request_id ?? requestId });
  } catch {
    const message = `The server answered with ${response.status} and no explanation.`;
    return new ApiError({ message, code: "unexpected", status: response.status, requestId });
  }
}

/**
 * @param {string} path
 * @param {{method?: string, body?: unknown, key?: string, signal?: AbortSignal, range?: string, keepalive?: boolean, file?: Blob}} [options] file: sent as it is, in place of a JSON body
 * @returns {Promise<Response>}
 */
async function request(path, { method = "GET", body, key, signal, range, keepalive, file } = {}) {
  /** @type {Record<string, string>} */
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRFToken"] = csrfToken();
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (file) headers["Content-Type"] = file.type;
  if (key) headers["Idempotency-Key"] = key;
  if (range) headers.Range = range;
  const init = { method, headers, body: body === undefined ? file : JSON.stringify(body), signal, keepalive };
  const response = await fetch(address(path), init).catch((error) => {
    if (error.name === "AbortError") throw error;
    const next = "Check the connection, then try again.";
    throw new ApiError({ message: "The server cannot be reached.", code: "unreachable", status: 0, next });
  });
  if (!response.ok) throw await refusal(response);
  return response;
}

/**
 * @param {string} path
 * @param {Parameters<typeof request>[1]} [options]
 * @returns {Promise<any>} the JSON answer; null when there is none
 */
export async function call(path, options) {
  const response = await request(path, options);
  return response.status === 204 ? null : response.json();
}

/**
 * @param {string} path
 * @param {Parameters<typeof request>[1]} [options]
 * @returns {Promise<string>}
 */
export async function callText(path, options) {
  return (await request(path, options)).text();
}

/**
 * The bytes of a text, or a stretch of them.
 * @param {string} path
 * @param {{from?: number, to?: number, signal?: AbortSignal, onProgress?: (read: number) => void}} [options] `to` is not included
 * @returns {Promise<Uint8Array>}
 */
export async function callBytes(path, { from = 0, to, signal, onProgress } = {}) {
  const response = await request(path, { signal, range: to === undefined ? undefined : `bytes=${from}-${to - 1}` });
  if (!onProgress || !response.body) return new Uint8Array(await response.arrayBuffer());
  const parts = [];
  let length = 0;
  for (const reader = response.body.getReader(); ; ) {
    const { value, done } = await reader.read();
    if (done) break;
    parts.push(value);
    length += value.length;
    onProgress(length);
  }
  const whole = new Uint8Array(length);
  for (let at = 0, part = 0; part < parts.length; at += parts[part].length, part += 1) whole.set(parts[part], at);
  return whole;
}

/**
 * A creating call. `key` belongs to the person's action: pass the same one when the same action is tried again.
 * @param {string} path
 * @param {unknown} body
 * @param {string} [key]
 */
export function create(path, body, key = newKey()) {
  return call(path, { method: "POST", body, key });
}

/** A fresh idempotency key. randomUUID needs a secure context, and plain http on a home network is not one. */
export function newKey() {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
