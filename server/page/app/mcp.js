// The screens Next and Plan inside an MCP host that shows apps (extension io.modelcontextprotocol/ui): one document,
// which asks no server. The host sends the answer of the tool.
import { Dag } from "./dag.js";
import { html } from "./html.js";
import { number, rounded, Table } from "./ui.js";
import { Waterfall } from "./waterfall.js";
import { useEffect, useState } from "./vendored/hooks.mjs";
import { render } from "./vendored/preact.mjs";

const waiting = new Map();
let asked = 0, heard = () => {}, host = {}, context = {}, size = "";
const STYLES = ["--color-background-primary", "--color-background-secondary", "--color-text-primary",
  "--color-text-secondary", "--color-border-primary", "--font-sans"]; // those that style.css uses

// The sandbox of a host has an origin of its own.
const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
const ask = (method, params) => new Promise((resolve, reject) => {
  waiting.set(++asked, { resolve, reject });
  send({ id: asked, method, params });
});

addEventListener("message", (e) => {
  const m = e.data;
  if (e.source !== parent || m?.jsonrpc !== "2.0") return;
  if (m.method) {
    if (m.method === "ui/notifications/host-context-changed") dress(m.params);
    else if (m.id === undefined) heard(m.method, m.params);
    else if (m.method === "ui/resource-teardown" || m.method === "ping") send({ id: m.id, result: {} });
    else send({ id: m.id, error: { code: -32601, message: "unknown method" } });
    return;
  }
  const w = waiting.get(m.id);
  waiting.delete(m.id);
  if (m.error) w?.reject(new Error(m.error.message));
  else w?.resolve(m.result);
});

/**
 * Takes over what is new of the host: its theme, and its colours if it gives all of them, for they would not fit ours.
 */
function dress(news) {
  context = { ...context, ...news };
  const root = document.documentElement, given = context.styles?.variables ?? {};
  if (context.theme) root.dataset.theme = context.theme;
  const all = STYLES.every((s) => given[s]);
  for (const name of STYLES) all ? root.style.setProperty(name, given[name]) : root.style.removeProperty(name);
  root.style.height = context.containerDimensions?.height ? "100vh" : "";
}

/** Tells the host how large the content is: of the body, for the document is never smaller than its frame. */
function measure() {
  const most = context.containerDimensions ?? {};
  const now = {
    width: Math.min(document.documentElement.scrollWidth, most.maxWidth ?? Infinity),
    height: Math.min(Math.ceil(document.body.getBoundingClientRect().height), most.maxHeight ?? Infinity),
  };
  if (size === (size = JSON.stringify(now))) return;
  send({ method: "ui/notifications/size-changed", params: now });
}

function Next({ answer: a, input, onAsk }) {
  if (!a.suggestions.length) return html`<p>There is nothing to suggest.</p>`;
  const follow = (s) => onAsk("suggest_next", { ...input, context: [...(input.context ?? []), s.id] });
  const then = (s) => html`<button type="button" aria-label=${`What comes after ${s.id}`} onClick=${() => follow(s)}>
    After it</button>`;
  return html`
    <${Table} caption="Candidates" head=${["rank", "id", "kind", "confidence", "reason", ...(onAsk ? ["then"] : [])]}
      numbers=${[0, 3]}
      rows=${a.suggestions.map((s, i) => [i + 1, s.id, s.kind, number(s.confidence), rounded(s.reason),
        ...(onAsk ? [then(s)] : [])])} />
    ${a.suggestions.map((s, i) => (s.terms ?? []).length > 0
      && html`<details open=${i === 0}><summary>Terms of ${s.id}</summary><${Waterfall} suggestion=${s} /></details>`)}
  `;
}

function Plan({ answer: a }) {
  const tasks = a.dag.tasks;
  if (!tasks.length) return html`<p>There is no plan. ${rounded(a.rationale)}</p>`;
  return html`<p>confidence ${number(a.confidence)}. ${rounded(a.rationale)}</p>
    <${Dag} name="plan" nodes=${tasks.map((t) => ({ ...t, note: `${t.kind}, confidence ${number(t.confidence)}` }))} />
    <${Table} caption="Tasks" head=${["task", "tool", "confidence", "depends on", "reason"]} numbers=${[2]}
      rows=${tasks.map((t) => [t.id, t.tool, number(t.confidence), (t.depends_on ?? []).join(", "),
        rounded(t.reason)])} />`;
}

const VIEWS = { next: ["Next", Next], plan: ["Plan", Plan] };

function App({ view }) {
  const [answer, set] = useState(null), [problem, fail] = useState(""), [input, give] = useState({});
  const [name, Screen] = VIEWS[view];
  useEffect(() => {
    heard = (method, params) => {
      if (method === "ui/notifications/tool-input") give(params?.arguments ?? {});
      if (method === "ui/notifications/tool-result") take(params);
      if (method === "ui/notifications/tool-cancelled") fail("The call was cancelled. " + (params?.reason ?? ""));
    };
    ask("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "waymark-" + view, version: "1" },
      appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] } }).then((r) => {
      host = r?.hostCapabilities ?? {};
      dress(r?.hostContext ?? {});
      send({ method: "ui/notifications/initialized", params: {} });
      new ResizeObserver(measure).observe(document.body);
    }).catch((e) => fail(e.message));
  }, []);
  const take = (r) => (r.isError || !r.structuredContent
    ? fail((r.content ?? []).map((c) => c.text ?? "").join(" ") || "The tool failed.")
    : (fail(""), set(r.structuredContent)));
  const call = (name, args) => ask("tools/call", { name, arguments: args }).then((r) => { give(args); take(r); })
    .catch((e) => fail(e.message));
  return html`<main><h1>${name}</h1>${problem && html`<p class="problem" role="alert">${problem}</p>`}
    ${(input.context ?? []).length > 0 && html`<p>After ${input.context.join(", ")}</p>`}
    ${answer ? html`<${Screen} answer=${answer} input=${input} onAsk=${host.serverTools && call} />`
      : !problem && html`<p aria-live="polite">Waiting for the answer…</p>`}</main>`;
}

render(html`<${App} view=${document.documentElement.dataset.view} />`, document.getElementById("app"));
