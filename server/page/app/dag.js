// A DAG of tools as a picture, its layers from left to right.
import { html } from "./html.js";
import { Picture } from "./ui.js";

const W = 210, H = 58;

/** The layer of each node: one more than the deepest it depends on. */
export function layers(nodes) {
  const by = new Map(nodes.map((n) => [n.id, n])), depth = new Map();
  const of = (id, path) => {
    if (depth.has(id)) return depth.get(id);
    if (!by.has(id) || path.has(id)) return -1;
    const d = 1 + Math.max(-1, ...(by.get(id).depends_on ?? []).map((p) => of(p, new Set(path).add(id))));
    depth.set(id, d);
    return d;
  };
  nodes.forEach((n) => of(n.id, new Set()));
  return depth;
}

/**
 * @param {{name: string, nodes: {id: string, tool: string, depends_on?: string[], state?: string, note?: string}[]}} p
 */
export function Dag({ name, nodes }) {
  const depth = layers(nodes), filled = [], place = new Map();
  for (const n of nodes) {
    const d = depth.get(n.id), row = (filled[d] = (filled[d] ?? 0) + 1) - 1;
    place.set(n.id, { x: 10 + d * (W + 50), y: 10 + row * (H + 22) });
  }
  const width = 20 + filled.length * (W + 50) - 50, height = 10 + Math.max(1, ...filled) * (H + 22);
  return html`<${Picture} name=${name} label=${`DAG of ${nodes.length} tasks; the table below has the same content`}
    width=${Math.max(width, 240)} height=${height}>
    ${nodes.flatMap((n) => (n.depends_on ?? []).filter((p) => place.has(p)).map((p) => {
      const a = place.get(p), b = place.get(n.id), ax = a.x + W, ay = a.y + H / 2, by = b.y + H / 2;
      const over = depth.get(n.id) - depth.get(p) > 1 ? Math.max(a.y, b.y) + H + 11 : 0; // below the layers between
      const below = `${ax + 20} ${ay} ${ax} ${over} ${ax + 30} ${over} L${b.x - 37} ${over} C${b.x - 7} ${over}`;
      const way = over ? `${below} ${b.x - 27} ${by} ` : `${ax + 25} ${ay} ${b.x - 25} ${by} `;
      return html`<path class="edge" d=${`M${ax} ${ay} C${way}${b.x - 7} ${by} m-6 -4 l6 4 l-6 4`} />`;
    }))}
    ${nodes.map((n) => {
      const { x, y } = place.get(n.id);
      return html`<g><rect class=${"frame " + (n.state ?? "")} x=${x} y=${y} width=${W} height=${H} rx="6" />
        <text x=${x + 8} y=${y + 22}>${n.id}: ${n.tool.length > 26 ? n.tool.slice(0, 25) + "…" : n.tool}</text>
        <text x=${x + 8} y=${y + 42}>${n.note ?? ""}</text><title>${n.tool}</title></g>`;
    })}
  <//>`;
}
