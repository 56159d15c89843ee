// Screen Map: the graph at the places that the server computed. Two sliders leave out the less important nodes and the
// weaker transitions. Circles and lines are changed only when their number does, so that moving stays quick.
import { h, Fragment } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { IdInput } from "./question.jsx";
import { go, href } from "./route.js";
import { Failed, NoHistory, number, SaveSVG, Source, Table, useGet } from "./ui.jsx";

const LABELS = 60; // most names beside nodes
const FEW = 100; // transitions that are all shown at first
const hue = (s) => { let v = 0; for (const c of String(s)) v = (v * 31 + c.codePointAt(0)) % 360; return v; };
const color = (value) => (value === -1 || value === "" || value === undefined ? "#8a8f98" : `hsl(${(hue(value) * 137) % 360} 55% 50%)`);

/** What a map shows by the sliders. */
function filtered(data, nodeShare, edgeShare) {
  const nodes = data.nodes.slice(0, Math.max(1, Math.ceil(data.nodes.length * nodeShare))), at = new Map(nodes.map((n) => [n.id, n]));
  const edges = data.edges.filter((e) => e.from !== e.to && at.has(e.from) && at.has(e.to));
  return { nodes, at, edges: edges.slice(0, Math.ceil(edges.length * edgeShare)) };
}

/** The names of the most important nodes in view that lie over no other name. */
function labels(nodes, box, right, unit, radius) {
  const placed = [];
  for (const n of nodes) {
    if (placed.length === LABELS) break;
    if (n.x < box.x || n.x > box.x + box.w || n.y < box.y || n.y > box.y + box.h) continue;
    const l = { n, x: n.x + radius(n) + 3 * unit, y: n.y + 4 * unit, w: n.id.length * 6.8 * unit, h: 13 * unit };
    if (l.x + l.w > right) l.x = n.x - radius(n) - 3 * unit - l.w; // it would be cut off
    if (!placed.some((p) => l.x < p.x + p.w && p.x < l.x + l.w && l.y < p.y + p.h && p.y < l.y + l.h)) placed.push(l);
  }
  return placed;
}

function Drawing({ shown, chosen, by, onChoose }) {
  const { nodes, edges, at } = shown;
  const xs = nodes.map((n) => n.x), ys = nodes.map((n) => n.y);
  const left = Math.min(...xs) - 3, top = Math.min(...ys) - 3, full = { w: Math.max(...xs) - left + 5, h: Math.max(...ys) - top + 3 };
  const [view, setView] = useState(null), drag = useRef(null), svg = useRef(null);
  const focus = at.get(chosen);
  const box = view ?? { x: left, y: top, ...full };
  const wide = Math.min(1240, innerWidth - 42), unit = Math.max(box.w / wide, box.h / Math.min(560, innerWidth)), most = nodes[0]?.pagerank || 1; // a pixel
  const radius = (n) => Math.max(0.15 + 0.35 * Math.sqrt(n.pagerank / most), (1.5 + 2 * Math.sqrt(n.pagerank / most)) * unit);
  const zoom = (f, cx = box.x + box.w / 2, cy = box.y + box.h / 2) => setView({ x: cx - (cx - box.x) * f, y: cy - (cy - box.y) * f, w: box.w * f, h: box.h * f });
  const move = (dx, dy) => setView({ ...box, x: box.x + dx * box.w, y: box.y + dy * box.h });
  const keys = { "+": () => zoom(0.8), "-": () => zoom(1.25), 0: () => setView(null), ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0), ArrowUp: () => move(0, -0.1), ArrowDown: () => move(0, 0.1) };
  const lines = useMemo(() => edges.map((e) => { const a = at.get(e.from), b = at.get(e.to); return `M${a.x} ${a.y}L${b.x} ${b.y}`; }).join(""), [shown]);
  const near = focus ? edges.filter((e) => e.from === chosen || e.to === chosen) : [];
  const pointer = {
    onPointerDown: (e) => { drag.current = { x: e.clientX, y: e.clientY, box }; },
    onPointerMove: (e) => { const d = drag.current; if (d && e.buttons) { const k = d.box.w / e.currentTarget.clientWidth; setView({ ...d.box, x: d.box.x - (e.clientX - d.x) * k, y: d.box.y - (e.clientY - d.y) * k }); } },
    onPointerUp: () => { drag.current = null; },
    onWheel: (e) => { e.preventDefault(); zoom(e.deltaY < 0 ? 0.85 : 1.18); },
  };
  return <>
    <div class="row"><button type="button" onClick={() => zoom(0.8)}>Zoom in</button><button type="button" onClick={() => zoom(1.25)}>Zoom out</button>
      <button type="button" onClick={() => setView(null)}>Whole map</button>
      <SaveSVG of={svg} name="map" />
      {focus && <button type="button" onClick={() => setView({ x: focus.x - 8, y: focus.y - 6, w: 16, h: 12 })}>Go to {chosen}</button>}</div>
    <svg class="map" ref={svg} viewBox={`${box.x} ${box.y} ${box.w} ${box.h}`} tabindex={0} role="img" {...pointer}
      aria-label={`Map of ${nodes.length} nodes and ${edges.length} transitions; the tables below have the same content. Arrow keys move it, plus and minus zoom.`}
      onKeyDown={(e) => { if (keys[e.key]) { e.preventDefault(); keys[e.key](); } }}>
      <path class="edge" d={lines} stroke-width={unit * 0.6} stroke-opacity={0.35} />
      {near.map((e) => <line class="near" x1={at.get(e.from).x} y1={at.get(e.from).y} x2={at.get(e.to).x} y2={at.get(e.to).y} stroke-width={unit * 2} />)}
      {nodes.map((n) => <circle cx={n.x} cy={n.y} r={radius(n)} fill={color(n[by])} class={n.id === chosen ? "chosen" : undefined} stroke-width={unit} onClick={() => onChoose(n.id)}><title>{n.id}</title></circle>)}
      {labels(focus ? [focus, ...nodes] : nodes, box, box.x + (box.w + wide * unit) / 2, unit, radius).map((l) => <text x={l.x} y={l.y} style={{ fontSize: unit * 12 + "px" }} class="label">{l.n.id}</text>)}
    </svg>
  </>;
}

export function Evidence({ from, to }) {
  const path = `/v1/evidence?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`;
  const { data, error } = useGet(path);
  return <><Failed error={error} />{data && <Table caption={`Episodes with ${to} right after ${from}: ${data.total}; it succeeded in ${data.successes} and failed in ${data.failures}. The last first`} head={["episode", "source", "outcome", `outcome of ${to}`]}
    rows={data.episodes.map((e) => [e.id, e.source ?? "", e.outcome, e.step_outcome])} />}<Source request={"GET " + path} data={data} name="evidence" /></>;
}

function Details({ id, kind }) {
  const path = `/v1/${kind === "capability" ? "capabilities" : "tools"}/${encodeURIComponent(id)}`, around = `/v1/map?around=${encodeURIComponent(id)}&depth=1`;
  const one = useGet(path), near = useGet(around);
  const [edge, show] = useState(null);
  const edges = (near.data?.edges ?? []).filter((e) => e.from === id || e.to === id);
  return <section class="card" aria-label={"Details of " + id}><h2>{id}</h2>
    {one.error ? <p class="soft">{one.error.message}</p> : one.data && <><p class="text" tabIndex={0}>{one.data.description}</p><Source request={"GET " + path} data={one.data} name="details" /></>}
    <p><a href={href("next", { context: id })}>What comes next</a> · <a href={href("operations", { after: id, order: "failures" })}>What fails right after it</a></p>
    <Failed error={near.error} />
    <Table caption="Transitions: how often the second came right after the first and did not fail; the weight is lower for what is long ago" head={["from", "to", "weight", "count", "evidence"]} numbers={[2, 3]}
      rows={edges.map((e) => [e.from, e.to, number(e.weight), e.count, <button type="button" aria-label={`Episodes with ${e.from} → ${e.to}`} onClick={() => show(e)}>Episodes</button>])} />
    <Source request={"GET " + around} data={near.data} name="neighbours" />
    {edge && <Evidence from={edge.from} to={edge.to} />}
  </section>;
}

export function GraphMap({ route }) {
  const q = route.query, by = q.get("color") === "server" ? "server" : "community", chosen = q.get("id") ?? "";
  const path = "/v1/map", { data, error } = useGet(path);
  const nodeShare = Number(q.get("nodes") ?? 100) / 100, edgeShare = Number(q.get("paths") ?? (data?.edges.length > FEW ? 40 : 100)) / 100;
  const [find, setFind] = useState("");
  const change = (part) => go("map", { color: q.get("color"), id: chosen, nodes: q.get("nodes"), paths: q.get("paths"), ...part });
  const shown = useMemo(() => data && data.nodes.length > 0 && filtered(data, nodeShare, edgeShare), [data, nodeShare, edgeShare]);
  if (!data) return <Failed error={error} />;
  if (!shown) return <NoHistory>There are no tools and no history.</NoHistory>;
  const kind = data.nodes.find((n) => n.id === chosen)?.kind;
  return <>
    <div class="row">
      <IdInput label="Find a tool or capability" value={find} onInput={setFind} onEnter={() => find.trim() && change({ id: find.trim() })} />
      <button type="button" onClick={() => find.trim() && change({ id: find.trim() })}>Find</button>
      <label>Colour by<select value={by} onChange={(e) => change({ color: e.currentTarget.value })}><option value="community">community</option><option value="server">server</option></select></label>
      <label>Tools: {Math.round(nodeShare * 100)} %<input type="range" min={1} max={100} value={nodeShare * 100} onChange={(e) => change({ nodes: e.currentTarget.value })} /></label>
      <label>Paths: {Math.round(edgeShare * 100)} %<input type="range" min={0} max={100} value={edgeShare * 100} onChange={(e) => change({ paths: e.currentTarget.value })} /></label>
    </div>
    <p aria-live="polite" id="counts">{shown.nodes.length} of {data.total_nodes} nodes, {shown.edges.length} of {data.total_edges} transitions</p>
    <Drawing shown={shown} chosen={chosen} by={by} onChoose={(id) => change({ id })} />
    {chosen && <Details key={chosen} id={chosen} kind={kind} />}
    <h2>Nodes</h2>
    <Table caption="The 200 most important of the nodes shown" head={["id", "kind", "server", "community", "importance", "calls"]} numbers={[3, 4, 5]}
      rows={shown.nodes.slice(0, 200).map((n) => [<a href={href("map", { ...Object.fromEntries(q), id: n.id })}>{n.id}</a>, n.kind, n.server ?? "", n.community, number(n.pagerank), n.uses])} />
    <Table caption="The 200 strongest of the transitions shown" head={["from", "to", "weight", "count"]} numbers={[2, 3]} rows={shown.edges.slice(0, 200).map((e) => [e.from, e.to, number(e.weight), e.count])} />
    <Source request={"GET " + path} data={data} name="map" />
  </>;
}
