// The screens Map, Next and Plan inside an MCP host that shows apps (extension io.modelcontextprotocol/ui): one document,
// which asks no server. The host sends the answer of the tool, and reads the map for it.
import { h, Fragment, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Dag } from "./dag.jsx";
import { Drawing, filtered } from "./map.jsx";
import { number, Table } from "./ui.jsx";
import { Waterfall } from "./waterfall.jsx";

const waiting = new Map();
let asked = 0, heard = () => {};

const send = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*"); // the sandbox of a host has an origin of its own
const ask = (method, params) => new Promise((resolve, reject) => {
  waiting.set(++asked, { resolve, reject });
  send({ id: asked, method, params });
});

addEventListener("message", (e) => {
  const m = e.data;
  if (e.source !== parent || m?.jsonrpc !== "2.0") return;
  if (m.method) {
    if (m.method === "ui/notifications/tool-result") heard(m.params);
    else if (m.id !== undefined) send({ id: m.id, ...(m.method === "ui/resource-teardown" || m.method === "ping" ? { result: {} } : { error: { code: -32601, message: "unknown method" } }) });
    return;
  }
  const w = waiting.get(m.id);
  waiting.delete(m.id);
  if (m.error) w?.reject(new Error(m.error.message));
  else w?.resolve(m.result);
});

function Next({ answer: a }) {
  if (!a.suggestions.length) return <p>There is nothing to suggest.</p>;
  return <>
    <Table caption="Candidates" head={["rank", "id", "kind", "confidence", "reason"]} numbers={[0, 3]} rows={a.suggestions.map((s, i) => [i + 1, s.id, s.kind, number(s.confidence), s.reason ?? ""])} />
    {a.suggestions.map((s, i) => (s.terms ?? []).length > 0 && <details open={i === 0}><summary>Terms of {s.id}</summary><Waterfall suggestion={s} /></details>)}
  </>;
}

function Plan({ answer: a }) {
  const tasks = a.dag.tasks;
  if (!tasks.length) return <p>There is no plan. {a.rationale}</p>;
  return <><p>confidence {number(a.confidence)}. {a.rationale}</p>
    <Dag name="plan" nodes={tasks.map((t) => ({ ...t, note: `${t.kind}, confidence ${number(t.confidence, 2)}` }))} />
    <Table caption="Tasks" head={["task", "tool", "confidence", "depends on", "reason"]} numbers={[2]} rows={tasks.map((t) => [t.id, t.tool, number(t.confidence), (t.depends_on ?? []).join(", "), t.reason ?? ""])} /></>;
}

function Map_({ answer }) {
  const [chosen, choose] = useState(""), shown = filtered(answer, 1, 1);
  if (!answer.nodes.length) return <p>There are no tools and no history.</p>;
  return <><p>{shown.nodes.length} of {answer.total_nodes} nodes, {shown.edges.length} of {answer.total_edges} transitions</p>
    <Drawing shown={shown} chosen={chosen} by="community" onChoose={choose} />
    <Table caption="Transitions, the strongest first" head={["from", "to", "weight", "count"]} numbers={[2, 3]} rows={shown.edges.filter((e) => !chosen || e.from === chosen || e.to === chosen).slice(0, 50).map((e) => [e.from, e.to, number(e.weight), e.count])} /></>;
}

const VIEWS = { map: ["Map", Map_], next: ["Next", Next], plan: ["Plan", Plan] };

function App({ view }) {
  const [answer, set] = useState(null), [problem, fail] = useState("");
  const [name, Screen] = VIEWS[view];
  useEffect(() => {
    heard = (r) => (r.isError || !r.structuredContent ? fail((r.content ?? []).map((c) => c.text ?? "").join(" ") || "The tool failed.") : (fail(""), set(r.structuredContent)));
    ask("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "waymark-" + view, version: "1" }, appCapabilities: {} }).then((r) => {
      const theme = r?.hostContext?.theme;
      if (theme) document.documentElement.dataset.theme = theme;
      send({ method: "ui/notifications/initialized", params: {} });
      if (view === "map") return ask("resources/read", { uri: "waymark://map" }).then((read) => set(JSON.parse(read.contents[0].text)));
    }).catch((e) => fail(e.message));
    new ResizeObserver(() => send({ method: "ui/notifications/size-changed", params: { width: document.documentElement.scrollWidth, height: document.documentElement.scrollHeight } })).observe(document.body);
  }, []);
  return <main><h1>{name}</h1>{problem && <p class="problem" role="alert">{problem}</p>}{answer ? <Screen answer={answer} /> : !problem && <p aria-live="polite">Waiting for the answer…</p>}</main>;
}

render(<App view={document.documentElement.dataset.view} />, document.getElementById("app"));
