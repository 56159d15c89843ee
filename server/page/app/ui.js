// Parts that several screens use. Data is only ever put into text nodes and attributes, so that what a tool says of
// itself stays text.
import { get } from "./api.js";
import { html } from "./html.js";
import { href } from "./route.js";
import { useEffect, useRef, useState } from "./vendored/hooks.mjs";

/** A number as people read it: three digits, and a leading zero. Whole numbers keep all of theirs. */
export function number(v) {
  if (typeof v !== "number") return "–";
  if (Number.isInteger(v)) return String(v);
  return v.toFixed(Math.abs(v) < 1 ? 3 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(v)))));
}


/** A time of the reader's zone, as in 2026-11-29 19:30:00: Swedish has the order of ISO 8601. */
export const time = (v) => (v ? new Date(v).toLocaleString("sv") : "–");

/** A sentence of the server with its numbers and times so, and hashes cut. */
export const rounded = (text) => (text ?? "").replace(/\d+\.\d{4,}/g, (v) => number(Number(v)))
  .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g, time).replace(/(sha256:\w{12})\w+/g, "$1");

/** A value: the parts of an object below its names, the items of a list below their numbers. */
export function Value({ of }) {
  if (of?.$from) return `from ${of.$from}`;
  if (of === null || typeof of !== "object") return String(of ?? "–");
  const parts = Object.entries(of), name = (k) => (Array.isArray(of) ? Number(k) + 1 : k);
  return parts.length === 0 ? "none" : html`<dl class="value">
    ${parts.map(([k, v]) => html`<dt>${name(k)}: </dt><dd><${Value} of=${v} /></dd>`)}</dl>`;
}

const WARNINGS = {
  low_confidence: "Confidence is low: the best answer is more likely wrong than right.",
  no_history: "Nothing was ever recorded after this context.",
  unknown_context: "An id of the context is in no catalog and no episode.",
  no_intent_match: "No tool's text has a word in common with the intent.",
  foreign_request: "The words of the intent are neither those of the catalog nor of the history.",
  truncated: "The plan was cut at the most tasks allowed.",
  nothing_allowed: "The patterns of allowed ids match nothing.",
  provisional: "Profile learned is being fitted: prior weights answer meanwhile.",
};

/** A warning of an answer in words. */
export const warning = (code) => WARNINGS[code] ?? code;

/**
 * What a path answers, nothing while it is not the answer of this path, asked again whenever one of deps changes or
 * again() is called.
 * @returns {{data: any, error: any, again: () => void}}
 */
export function useGet(path, deps = []) {
  const [state, set] = useState({ data: null, error: null });
  const [turn, again] = useState(0);
  useEffect(() => {
    if (!path) return set({ data: null, error: null });
    const stop = new AbortController();
    get(path, stop.signal).then((data) => set({ path, data, error: null }),
      (error) => stop.signal.aborted || set({ path, data: null, error }));
    return () => stop.abort();
  }, [path, turn, ...deps]);
  const own = state.path === path;
  return { data: own ? state.data : null, error: own ? state.error : null, again: () => again((t) => t + 1) };
}

export function Failed({ error }) {
  if (!error) return null;
  return html`<p class=${error.status === 403 ? "problem note" : "problem"} role="alert">${error.message}</p>`;
}

/** What an empty place says: what is missing, and the command that adds it. */
export function Empty({ children, command }) {
  return html`<p class="empty">${children} ${command && html`On the command line: <code>${command}</code>.`}</p>`;
}

/** Where no history is. */
export const NoHistory = ({ children }) => html`<${Empty} command="waymark import ~/.claude/projects">
  ${children} <a href=${href("operations/add")}>Import a file or add a server</a>.<//>`;

/** The request behind what is shown, and its answer as a file of JSON. */
export function Source({ request, data, name }) {
  const [url, set] = useState("");
  useEffect(() => {
    if (!data) return;
    const made = URL.createObjectURL(new Blob([JSON.stringify(data, null, 2)], { type: "application/json" }));
    set(made);
    return () => URL.revokeObjectURL(made);
  }, [data]);
  if (!data) return null;
  return html`<p class="soft"><code>${request}</code> · <a href=${url} download=${(name ?? "answer") + ".json"}>
    JSON</a></p>`;
}

/**
 * @param {{caption: string, head: string[], rows: any[][], numbers?: number[]}} p numbers: the columns aligned right
 */
export function Table({ caption, head, rows, numbers = [] }) {
  const cls = (i) => (numbers.includes(i) ? "number" : undefined);
  return html`<div class="scroll" tabIndex="0" role="region" aria-label=${caption}>
    <table><caption>${caption}</caption>
      <thead><tr>${head.map((t, i) => html`<th scope="col" class=${cls(i)}>${t}</th>`)}</tr></thead>
      <tbody>${rows.map((row) => html`<tr>
        ${row.map((cell, i) => html`<td class=${cls(i)}>${cell}</td>`)}</tr>`)}</tbody>
    </table>
  </div>`;
}

const PAINT = ["fill", "stroke", "stroke-width", "font-size", "font-family", "paint-order"];

/** A button that saves the picture behind a ref as a file that needs no style sheet. */
export function SaveSVG({ of, name }) {
  const save = () => {
    const copy = of.current.cloneNode(true);
    const from = of.current.querySelectorAll("*"), to = copy.querySelectorAll("*");
    from.forEach((el, i) => {
      const css = getComputedStyle(el);
      for (const p of PAINT) to[i].setAttribute(p, css.getPropertyValue(p));
    });
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const a = document.createElement("a");
    a.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
    a.download = name + ".svg";
    a.click();
    URL.revokeObjectURL(a.href);
  };
  return html`<button type="button" class="save" onClick=${save}>Save as SVG</button>`;
}

/** A picture that can be saved. */
export function Picture({ name, label, width, height, children }) {
  const ref = useRef(null);
  return html`<div>
    <div class="scroll" tabIndex="0" role="region" aria-label=${"Picture: " + label}>
      <svg ref=${ref} width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img"
        aria-label=${label}>${children}</svg>
    </div>
    <${SaveSVG} of=${ref} name=${name} />
  </div>`;
}

/** A curve of points in the unit square; dashed, what it would be ideally. */
export function Curve({ name, label, points, x, y, ideal }) {
  const at = (a, b) => `${50 + a * 260} ${270 - b * 250}`;
  return html`<${Picture} name=${name} label=${label} width="340" height="310">
    <path class="axis" fill="none" d=${`M${at(0, 1)}L${at(0, 0)}L${at(1, 0)}`} />
    ${[0, 0.5, 1].map((v) => html`<g><text x="20" y=${274 - v * 250}>${v}</text>
      <text x=${46 + v * 255} y="287">${v}</text></g>`)}
    <text x="150" y="303">${x}</text><text x="54" y="16">${y}</text>
    ${ideal && html`<path class="edge" stroke-dasharray="4 4" d=${`M${at(...ideal[0])}L${at(...ideal[1])}`} />`}
    <path class="near" fill="none" stroke-width="2" d=${"M" + points.map((p) => at(...p)).join("L")} />
    ${points.map((p) => html`<circle class="neutral" cx=${50 + p[0] * 260} cy=${270 - p[1] * 250} r="3" />`)}
  <//>`;
}

/** A button that does something on the server and shows a refusal. */
export function Act({ label, act, then, confirm }) {
  const [state, set] = useState({ busy: false, error: null });
  const click = async () => {
    if (confirm && !window.confirm(confirm)) return;
    set({ busy: true, error: null });
    try {
      const answer = await act();
      set({ busy: false, error: null });
      then?.(answer);
    } catch (error) {
      set({ busy: false, error });
    }
  };
  return html`<button type="button" disabled=${state.busy} onClick=${click}>${label}</button>
    <${Failed} error=${state.error} />`;
}
