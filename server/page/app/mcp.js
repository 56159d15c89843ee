// The screens Next and Plan inside an MCP host that shows apps (extension io.modelcontextprotocol/ui): one document,
// which loads nothing else and asks no server. The host sends the answer of the tool. Data is only ever put into text
// nodes and attributes, so that what a tool says of itself stays text.
const view = document.documentElement.dataset.view, main = document.getElementById("app");
const waiting = new Map();
let asked = 0, host = {}, context = {}, size = "", input = {};
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
    else if (m.method === "ui/notifications/tool-input") input = m.params?.arguments ?? {};
    else if (m.method === "ui/notifications/tool-result") show(m.params);
    else if (m.method === "ui/notifications/tool-cancelled") fail(`The call was cancelled. ${m.params?.reason ?? ""}`);
    else if (m.method === "ui/resource-teardown" || m.method === "ping") send({ id: m.id, result: {} });
    else if (m.id !== undefined) send({ id: m.id, error: { code: -32601, message: "unknown method" } });
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

/** An element; its children are nodes and texts. */
function el(name, attributes, ...children) {
  const drawn = ["svg", "rect", "path", "text", "title"].includes(name);
  const e = drawn ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  e.append(...children.map((c) => (c instanceof Node ? c : String(c ?? ""))));
  return e;
}

/** A sentence of the server with three digits after each point. */
const rounded = (text) => (text ?? "").replace(/\d+\.\d{4,}/g, (v) => number(Number(v)));

const number = (v) => (typeof v !== "number" ? "–" : Number.isInteger(v) ? String(v) : v.toFixed(3));

function table(caption, head, rows) {
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }, el("table", {},
    el("caption", {}, caption), el("thead", {}, el("tr", {}, ...head.map((t) => el("th", { scope: "col" }, t)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, cell)))))));
}

function next(a) {
  if (!a.suggestions.length) return [el("p", {}, "There is nothing to suggest.")];
  const then = (s) => {
    const b = el("button", { type: "button", "aria-label": `What comes after ${s.id}` }, "After it");
    b.onclick = () => {
      const args = { ...input, context: [...(input.context ?? []), s.id] };
      ask("tools/call", { name: "suggest_next", arguments: args }).then((r) => { input = args; show(r); })
        .catch((e) => fail(e.message));
    };
    return b;
  };
  const calls = host.serverTools ? ["then"] : [];
  return [table("Candidates", ["rank", "id", "kind", "confidence", "reason", ...calls], a.suggestions.map((s, i) =>
    [i + 1, s.id, s.kind, number(s.confidence), rounded(s.reason), ...calls.map(() => then(s))])),
  ...a.suggestions.filter((s) => s.terms?.length).map((s, i) => el("details", i ? {} : { open: "" },
    el("summary", {}, "Terms of " + s.id), table("Terms of " + s.id, ["term", "value", "weight", "contribution"],
      s.terms.map((t) => [t.name, number(t.value), number(t.weight), number(t.contribution)]))))];
}

/** The tasks in layers from left to right: each in the layer after the deepest that it depends on. */
function picture(tasks) {
  const W = 210, H = 58, place = new Map(), filled = [];
  for (const t of tasks) { // tasks come in the order of their dependencies
    const layer = 1 + Math.max(-1, ...(t.depends_on ?? []).map((p) => place.get(p)?.layer ?? -1));
    const row = (filled[layer] = (filled[layer] ?? 0) + 1) - 1;
    place.set(t.id, { layer, x: 10 + layer * (W + 50), y: 10 + row * (H + 22) });
  }
  const width = 20 + filled.length * (W + 50) - 50, height = 20 + Math.max(...filled) * (H + 22);
  const label = `DAG of ${tasks.length} tasks; the table below has the same content`;
  const edges = tasks.flatMap((t) => (t.depends_on ?? []).filter((p) => place.has(p)).map((p) => {
    const a = place.get(p), b = place.get(t.id), y = b.y + H / 2;
    return el("path", { class: "edge", d: `M${a.x + W} ${a.y + H / 2} L${b.x} ${y} m-6 -4 l6 4 l-6 4` });
  }));
  const boxes = tasks.flatMap((t) => {
    const { x, y } = place.get(t.id), text = `${t.id}: ${t.tool}`;
    return [el("rect", { class: "frame", x, y, width: W, height: H, rx: 6 }, el("title", {}, t.tool)),
      el("text", { x: x + 8, y: y + 22 }, text.length > 30 ? text.slice(0, 29) + "…" : text),
      el("text", { x: x + 8, y: y + 42 }, `${t.kind}, confidence ${number(t.confidence)}`)];
  });
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Picture: " + label },
    el("svg", { width, height, role: "img", "aria-label": label }, ...edges, ...boxes));
}

function plan(a) {
  const tasks = a.dag.tasks;
  if (!tasks.length) return [el("p", {}, "There is no plan. ", rounded(a.rationale))];
  return [el("p", {}, `confidence ${number(a.confidence)}. `, rounded(a.rationale)), picture(tasks),
    table("Tasks", ["task", "tool", "confidence", "depends on", "reason"],
      tasks.map((t) => [t.id, t.tool, number(t.confidence), (t.depends_on ?? []).join(", "), rounded(t.reason)]))];
}

const head = () => el("h1", {}, view === "next" ? "Next" : "Plan");

function fail(text) {
  main.querySelector("[role=alert]")?.remove();
  main.querySelector("h1").after(el("p", { class: "problem", role: "alert" }, text));
}

/** Shows the result of a tool. */
function show(r) {
  const a = r.structuredContent, said = (r.content ?? []).map((c) => c.text ?? "").join(" ");
  if (r.isError || !a) return fail(said || "The tool failed.");
  const after = input.context?.length ? [el("p", {}, "After " + input.context.join(", "))] : [];
  main.replaceChildren(head(), ...after, ...(view === "next" ? next(a) : plan(a)));
}

main.replaceChildren(head(), el("p", { "aria-live": "polite" }, "Waiting for the answer…"));
ask("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "waymark-" + view, version: "1" },
  appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] } }).then((r) => {
  host = r?.hostCapabilities ?? {};
  dress(r?.hostContext ?? {});
  send({ method: "ui/notifications/initialized", params: {} });
  new ResizeObserver(measure).observe(document.body);
}).catch((e) => fail(e.message));
