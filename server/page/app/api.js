// Requests to the HTTP API. The key stays in sessionStorage of this tab and travels in one header, never in an address.

const KEY = "waymark-key";

/** @returns {string | null} */
export const key = () => sessionStorage.getItem(KEY);

/** Exchanges the code of a sign-in link for the token of a session, which takes the place of a key. */
export async function signIn(code) {
  setKey((await post("/v1/sign-in-links/exchange", { code })).token);
}

/** @param {string} value empty: sign out */
export function setKey(value) {
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
}

/** A refusal: the text of its problem document, and its errors. */
class Problem extends Error {
  /**
   * @param {number} status
   * @param {string} text
   * @param {{location: string, message: string, value?: any}[]} [errors]
   */
  constructor(status, text, errors = []) {
    super(text);
    this.status = status;
    this.errors = errors;
  }
}

function headers(body) {
  const h = {};
  if (body !== undefined) h["Content-Type"] = body instanceof Blob ? "application/x-ndjson" : "application/json";
  if (key()) h.Authorization = "Bearer " + key();
  return h;
}

/** @param {Response} r */
async function problemOf(r) {
  const text = await r.text();
  try {
    const p = JSON.parse(text);
    const details = (p.errors ?? []).map((e) => `${e.location}: ${e.message}`).join("; ");
    return new Problem(r.status, [p.detail ?? p.title, details].filter(Boolean).join(": "), p.errors ?? []);
  } catch {
    return new Problem(r.status, `${r.status} ${r.statusText}`);
  }
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body] a file is sent as it is, as lines of JSON
 * @param {AbortSignal} [signal]
 */
export async function request(method, path, body, signal) {
  const sent = body === undefined || body instanceof Blob ? body : JSON.stringify(body);
  const r = await fetch(path, { method, headers: headers(body), body: sent, signal, credentials: "omit" });
  if (!r.ok) throw await problemOf(r);
  return r.status === 204 ? null : r.json();
}

export const get = (path, signal) => request("GET", path, undefined, signal);
export const post = (path, body, signal) => request("POST", path, body, signal);

/**
 * Calls heard for each event of a stream until it ends. EventSource cannot send the key, so the stream is read here.
 * @param {string} path
 * @param {(data: any) => void} heard
 * @param {AbortSignal} signal
 */
export async function events(path, heard, signal) {
  const r = await fetch(path, { headers: { ...headers(), Accept: "text/event-stream" }, signal, credentials: "omit" });
  if (!r.ok) throw await problemOf(r);
  const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split(/\r?\n\r?\n/);
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const data = part.split(/\r?\n/).filter((l) => l.startsWith("data:")).map((l) => l.slice(5)).join("\n");
      if (data) heard(JSON.parse(data));
    }
  }
}
