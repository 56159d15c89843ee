// Screen Map: the graph in the order of the places that the server computed. Two sliders leave out the less important
// nodes and the weaker transitions.
import { post } from "./api.js";
import { html } from "./html.js";
import { IdInput } from "./question.js";
import { go, href } from "./route.js";
import { Empty, Failed, number, SaveSVG, Source, Table, useGet } from "./ui.js";
import { useEffect, useMemo, useRef, useState } from "./vendored/hooks.mjs";

const LABELS = 60; // most names beside nodes
const OBSTACLES = 300; // circles, the most important first, that no name may cover
const FEW = 100; // transitions that are all shown at first
const GROUPS = 10; // colours that an eye tells apart
const MARGIN = 20, LEAST = 4, MOST = 13; // pixels: of the frame, and the radius of a circle
const OTHERS = "#8a8f98";
const frame = () => ({
  w: Math.min(1240, document.documentElement.clientWidth - 42), h: Math.min(560, 1.25 * innerWidth),
});

/** The percentage that an address gives. */
function percent(text, otherwise) {
  const n = parseInt(text, 10);
  return n >= 0 && n <= 100 ? n : otherwise;
}

/** The largest communities or servers: value, colour, how many nodes, and the most important of them. */
function groups(nodes, by) {
  const of = new Map();
  for (const n of nodes) {
    if ((n[by] ?? "") === "" || n[by] === -1) continue;
    const g = of.get(n[by]) ?? { value: n[by], count: 0, first: n.id };
    of.set(n[by], { ...g, count: g.count + 1 });
  }
  return [...of.values()].sort((a, b) => b.count - a.count || (a.first < b.first ? -1 : 1)).slice(0, GROUPS)
    .map((g, i) => ({ ...g, color: `hsl(${(i * 137) % 360} 60% ${i % 2 ? 42 : 55}%)` }));
}

/** The nodes at places that fill a frame: half of a place is its rank, which draws apart what lies close together. */
function spread(nodes, { w, h }) {
  const along = (axis, size) => {
    const sorted = [...nodes].sort((a, b) => a[axis] - b[axis] || (a.id < b.id ? -1 : 1));
    const low = sorted[0]?.[axis], range = sorted.at(-1)?.[axis] - low || 1, last = nodes.length - 1;
    const place = (n, i) => MARGIN + (size - 2 * MARGIN) * ((n[axis] - low) / range + i / last) / 2;
    return new Map(sorted.map((n, i) => [n.id, last === 0 ? size / 2 : place(n, i)]));
  };
  const x = along("x", w), y = along("y", h);
  return nodes.map((n) => ({ ...n, x: x.get(n.id), y: y.get(n.id) }));
}

/** What a map shows by the sliders, and the chosen node with it. */
function filtered(all, data, nodeShare, edgeShare, chosen) {
  const most = Math.max(1, Math.ceil((all.length * nodeShare) / 100));
  const nodes = all.filter((n, i) => i < most || n.id === chosen), at = new Map(nodes.map((n) => [n.id, n]));
  const edges = data.edges.filter((e) => e.from !== e.to && at.has(e.from) && at.has(e.to));
  return { nodes, at, edges: edges.slice(0, Math.ceil((edges.length * edgeShare) / 100)) };
}

/** The names of nodes in view that lie over no other name; those of the first may lie over circles. */
function labels(first, nodes, box, unit, radius) {
  const inside = (n) => n.x >= box.x && n.x <= box.x + box.w && n.y >= box.y && n.y <= box.y + box.h;
  const seen = [...new Set([...first, ...nodes])].filter(inside), placed = [];
  const circles = seen.slice(0, OBSTACLES)
    .map((n) => ({ x: n.x - radius(n), y: n.y - radius(n), w: 2 * radius(n), h: 2 * radius(n) }));
  const over = (l) => (p) => l.x < p.x + p.w && p.x < l.x + l.w && l.y < p.y + p.h && p.y < l.y + l.h;
  for (const n of seen) {
    if (placed.length === LABELS) break;
    const w = n.id.length * 6.8 * unit, gap = radius(n) + 3 * unit;
    const sides = [n.x + gap, n.x - gap - w].map((x) => ({ n, x, y: n.y - 7 * unit, w, h: 14 * unit }))
      .filter((l) => l.x >= box.x && l.x + l.w <= box.x + box.w && !placed.some(over(l)));
    const label = sides.find((l) => !circles.some(over(l))) ?? (first.includes(n) && sides[0]);
    if (label) placed.push(label);
  }
  return placed;
}

function Drawing({ shown, size, chosen, groups, color, onChoose }) {
  const { nodes, edges, at } = shown;
  const [view, setView] = useState(null), drag = useRef(null), svg = useRef(null);
  const focus = at.get(chosen), full = { x: 0, y: 0, ...size }, box = view ?? full;
  const unit = box.w / size.w, most = nodes[0]?.pagerank || 1; // a pixel
  const radius = (n) => (LEAST + (MOST - LEAST) * Math.sqrt(n.pagerank / most)) * unit;
  const to = (n, w = box.w, h = box.h) => setView({ x: n.x - w / 2, y: n.y - h / 2, w, h });
  useEffect(() => {
    const far = (axis, side) => Math.abs(focus[axis] - box[axis] - box[side] / 2) > box[side] / 2;
    if (focus && (far("x", "w") || far("y", "h"))) to(focus);
  }, [chosen]);
  const zoom = (f, cx = box.x + box.w / 2, cy = box.y + box.h / 2) =>
    setView({ x: cx - (cx - box.x) * f, y: cy - (cy - box.y) * f, w: box.w * f, h: box.h * f });
  const move = (dx, dy) => setView({ ...box, x: box.x + dx * box.w, y: box.y + dy * box.h });
  const keys = {
    "+": () => zoom(0.8), "-": () => zoom(1.25), 0: () => setView(null),
    ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0),
    ArrowUp: () => move(0, -0.1), ArrowDown: () => move(0, 0.1),
  };
  const label = `Map of ${nodes.length} nodes and ${edges.length} transitions; the tables below have the same content. `
    + "Arrow keys move it, plus and minus zoom.";
  const lines = useMemo(() => edges.map((e) => {
    const a = at.get(e.from), b = at.get(e.to);
    return `M${a.x} ${a.y}L${b.x} ${b.y}`;
  }).join(""), [shown]);
  const first = [chosen, ...groups.map((g) => g.first)].map((id) => at.get(id)).filter(Boolean);
  const near = focus ? edges.filter((e) => e.from === chosen || e.to === chosen) : [];
  const pointer = {
    onPointerDown: (e) => { drag.current = { x: e.clientX, y: e.clientY, box }; },
    onPointerMove: (e) => {
      const d = drag.current;
      if (d && e.buttons) {
        const k = d.box.w / e.currentTarget.clientWidth;
        setView({ ...d.box, x: d.box.x - (e.clientX - d.x) * k, y: d.box.y - (e.clientY - d.y) * k });
      }
    },
    onPointerUp: () => { drag.current = null; },
    onWheel: (e) => { e.preventDefault(); zoom(e.deltaY < 0 ? 0.85 : 1.18); },
  };
  return html`
    <div class="row">
      <button type="button" onClick=${() => zoom(0.8)}>Zoom in</button>
      <button type="button" onClick=${() => zoom(1.25)}>Zoom out</button>
      <button type="button" onClick=${() => setView(null)}>Whole map</button>
      <${SaveSVG} of=${svg} name="map" />
      ${focus
        && html`<button type="button" onClick=${() => to(focus, size.w / 4, size.h / 4)}>Zoom to it</button>`}
    </div>
    <svg class="map" ref=${svg} viewBox=${`${box.x} ${box.y} ${box.w} ${box.h}`} tabindex="0" role="img" ...${pointer}
      aria-label=${label}
      onKeyDown=${(e) => { if (keys[e.key]) { e.preventDefault(); keys[e.key](); } }}>
      <path class="edge" d=${lines} stroke-width=${unit * 0.6} stroke-opacity="0.35" />
      ${near.map((e) => html`<line class="near" x1=${at.get(e.from).x} y1=${at.get(e.from).y} x2=${at.get(e.to).x}
        y2=${at.get(e.to).y} stroke-width=${unit * 2} />`)}
      ${nodes.map((n) => html`<circle cx=${n.x} cy=${n.y} r=${radius(n)} fill=${color(n)}
        class=${`${n.kind} ${n.id === chosen ? "chosen" : ""}`} stroke-width=${unit * (n.id === chosen ? 3 : 1)}
        onClick=${() => onChoose(n.id)}><title>${n.id}</title></circle>`)}
      ${labels(first, nodes, box, unit, radius)
        .map((l) => html`<text class="label" x=${l.x} y=${l.y + 11 * unit} style=${{ fontSize: unit * 12 + "px" }}>
          ${l.n.id}</text>`)}
    </svg>
  `;
}

export function Evidence({ from, to }) {
  const path = `/v1/evidence?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`;
  const { data, error } = useGet(path);
  const counts = data && `${data.total}; it succeeded in ${data.successes} and failed in ${data.failures}`;
  return html`<${Failed} error=${error} />
    ${data && html`<${Table} caption=${`Episodes with ${to} right after ${from}: ${counts}. The last first`}
      head=${["episode", "source", "outcome", `outcome of ${to}`]}
      rows=${data.episodes.map((e) => [e.id, e.source ?? "", e.outcome, e.step_outcome])} />`}
    <${Source} request=${"GET " + path} data=${data} name="evidence" />`;
}

const TRANSITIONS = "Transitions: how often the second came right after the first and did not fail; "
  + "the weight is lower for what is long ago";

function Details({ id, kind }) {
  const path = `/v1/${kind === "capability" ? "capabilities" : "tools"}/${encodeURIComponent(id)}`;
  const around = `/v1/map?around=${encodeURIComponent(id)}&depth=1`;
  const one = useGet(path), near = useGet(around);
  const [edge, show] = useState(null);
  const edges = (near.data?.edges ?? []).filter((e) => e.from === id || e.to === id);
  return html`<section class="card" aria-label=${"Details of " + id}><h2>${id}</h2>
    ${one.error ? html`<p class="soft">${one.error.message}</p>`
      : one.data && html`<p class="text" tabIndex="0">${one.data.description}</p>
        <${Source} request=${"GET " + path} data=${one.data} name="details" />`}
    <p><a href=${href("next", { context: id })}>What comes next</a> · <a
      href=${href("operations/tools", { after: id, order: "failures" })}>What fails right after it</a></p>
    <${Failed} error=${near.error} />
    <${Table} caption=${TRANSITIONS} head=${["from", "to", "weight", "count", "evidence"]} numbers=${[2, 3]}
      rows=${edges.map((e) => [e.from, e.to, number(e.weight), e.count,
        html`<button type="button" aria-label=${`Episodes with ${e.from} → ${e.to}`}
          onClick=${() => show(e)}>Episodes</button>`])} />
    <${Source} request=${"GET " + around} data=${near.data} name="neighbours" />
    ${edge && html`<${Evidence} from=${edge.from} to=${edge.to} />`}
  </section>`;
}

/** What the colours, circles and lines stand for. */
function Legend({ by, groups, nodes }) {
  const rest = nodes.length - groups.reduce((n, g) => n + g.count, 0);
  const entry = (color, text, kind) => html`<li><svg width="14" height="14" aria-hidden="true" class="map-key">
    <circle cx="7" cy="7" r="6" fill=${color} class=${kind} /></svg> ${text}</li>`;
  return html`<ul class="chips legend" aria-label="Legend">
    ${groups.map((g) => entry(g.color, by === "server" ? `${g.value} (${g.count})`
      : g.count > 1 ? `${g.first} and ${g.count - 1} used with it` : g.first))}
    ${rest > 0 && entry(OTHERS, `others (${rest})`)}
    ${nodes.some((n) => n.kind === "capability") && entry(OTHERS, "dashed: a capability", "capability")}
    <li class="soft">larger: more important; line: used one after the other</li>
  </ul>`;
}

export function GraphMap({ route }) {
  const q = route.query, by = q.get("color") === "server" ? "server" : "community", chosen = q.get("id") ?? "";
  const path = "/v1/map", { data, error } = useGet(path);
  const nodeShare = percent(q.get("nodes"), 100);
  const edgeShare = percent(q.get("paths"), data?.edges.length > FEW ? 40 : 100);
  const [find, setFind] = useState(""), [lost, lose] = useState(""), [size, resize] = useState(frame);
  useEffect(() => {
    const changed = () => resize(frame());
    addEventListener("resize", changed);
    return () => removeEventListener("resize", changed);
  }, []);
  const asked = { color: q.get("color"), id: chosen, nodes: q.get("nodes"), paths: q.get("paths") };
  const change = (part) => go("map", { ...asked, ...part });
  const all = useMemo(() => spread(data?.nodes ?? [], size), [data, size]);
  const largest = useMemo(() => groups(all, by), [all, by]);
  const shown = useMemo(() => data && filtered(all, data, nodeShare, edgeShare, chosen),
    [all, nodeShare, edgeShare, chosen]);
  if (!data) return html`<${Failed} error=${error} />`;
  if (!all.length) return html`<${Empty} command="waymark import">There are no tools.<//>`;
  const colors = new Map(largest.map((g) => [g.value, g.color])), color = (n) => colors.get(n[by]) ?? OTHERS;
  const search = async () => {
    const text = find.trim(), named = all.find((n) => n.id === text) ?? all.find((n) => n.id.includes(text));
    if (!text) return lose("");
    const ask = () => post("/v1/search", { query: text, limit: 1, explain: false }).catch(() => null);
    const id = named?.id ?? (await ask())?.results?.[0]?.id;
    lose(id ? "" : `Nothing is found for “${text}”.`);
    if (id) change({ id });
  };
  return html`
    <div class="row">
      <${IdInput} label="Find a tool or capability" value=${find} onInput=${setFind} onEnter=${search} />
      <button type="button" onClick=${search}>Find</button>
      <label>Colour by<select value=${by} onChange=${(e) => change({ color: e.currentTarget.value })}>
        <option value="community">community</option><option value="server">server</option></select></label>
      <label>Tools: ${nodeShare} %<input type="range" min="1" max="100" value=${nodeShare}
        onChange=${(e) => change({ nodes: e.currentTarget.value })} /></label>
      <label>Paths: ${edgeShare} %<input type="range" min="0" max="100" value=${edgeShare}
        onChange=${(e) => change({ paths: e.currentTarget.value })} /></label>
    </div>
    <p aria-live="polite" id="counts">${shown.nodes.length} of ${data.total_nodes} nodes,
      ${" "}${shown.edges.length} of ${data.total_edges} transitions${lost && ". " + lost}</p>
    <${Drawing} shown=${shown} size=${size} chosen=${chosen} groups=${largest} color=${color}
      onChoose=${(id) => change({ id })} />
    <${Legend} by=${by} groups=${largest} nodes=${all} />
    ${chosen && html`<${Details} key=${chosen} id=${chosen} kind=${shown.at.get(chosen)?.kind} />`}
    <h2>Nodes</h2>
    <${Table} caption="The 200 most important of the nodes shown"
      head=${["id", "kind", "server", "community", "importance", "calls"]} numbers=${[3, 4, 5]}
      rows=${shown.nodes.slice(0, 200).map((n) => [
        html`<a href=${href("map", { ...Object.fromEntries(q), id: n.id })}>${n.id}</a>`,
        n.kind, n.server ?? "", n.community, number(n.pagerank), n.uses])} />
    <${Table} caption="The 200 strongest of the transitions shown" head=${["from", "to", "weight", "count"]}
      numbers=${[2, 3]} rows=${shown.edges.slice(0, 200).map((e) => [e.from, e.to, number(e.weight), e.count])} />
    <${Source} request=${"GET " + path} data=${data} name="map" />
  `;
}
