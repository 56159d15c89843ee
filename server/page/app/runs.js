// Runs of DAGs: the list, and one run with its timeline, approvals and outputs.
import { events, post } from "./api.js";
import { Dag } from "./dag.js";
import { html } from "./html.js";
import { href } from "./route.js";
import { Act, Empty, Failed, Picture, Source, Table, time, useGet, Value } from "./ui.js";
import { useEffect } from "./vendored/hooks.mjs";

export function Runs({ state }) {
  const path = "/v1/runs" + (state ? "?state=" + encodeURIComponent(state) : "");
  const { data, error } = useGet(path);
  return html`<${Failed} error=${error} />
    ${data && (data.runs.length === 0
      ? html`<${Empty} command='waymark dag "…" --json | waymark run -'>There are no runs.<//>`
      : html`<${Table} caption="Runs, the newest first"
        head=${["run", "state", "started", "ended", "done", "failed", "skipped", "intent or capability"]}
        numbers=${[4, 5, 6]}
        rows=${data.runs.map((r) => [html`<a href=${href("plan", { run: r.id })}>${r.id}</a>`, r.state,
          time(r.started_at), time(r.ended_at), r.done, r.failed, r.skipped, r.intent || r.capability || ""])} />`)}
    <${Source} request=${"GET " + path} data=${data} name="runs" />`;
}

function Timeline({ nodes }) {
  const begun = nodes.filter((n) => n.started_at);
  if (!begun.length) return null;
  const start = Math.min(...begun.map((n) => Date.parse(n.started_at)));
  const end = Math.max(start + 1, ...begun.map((n) => Date.parse(n.started_at) + (n.duration_ms ?? 0)));
  const width = Math.min(720, document.documentElement.clientWidth - 50);
  const x = (t) => 90 + ((t - start) / (end - start)) * (width - 180);
  return html`<${Picture} name="timeline" label="Timeline of the run" width=${width} height=${begun.length * 22 + 8}>
    ${begun.map((n, i) => {
      const from = Date.parse(n.started_at), to = from + (n.duration_ms ?? 0);
      return html`<g><text x="4" y=${i * 22 + 18}>${n.id}</text>
        <rect class=${n.state === "failed" ? "down" : "neutral"} x=${x(from)} y=${i * 22 + 6}
          width=${Math.max(2, x(to) - x(from))} height="14" />
        <text x=${Math.max(x(to), x(from) + 2) + 4} y=${i * 22 + 18}>${n.duration_ms ?? 0} ms</text></g>`;
    })}
  <//>`;
}

const words = (state) => state.replaceAll("_", " ");
const Scrolled = ({ of }) => html`<div class="text" tabIndex="0"><${Value} of=${of} /></div>`;

/** What a person has to know to decide: why the node waits, and its arguments. */
function waitsFor(r, id) {
  const n = r.nodes.find((one) => one.id === id);
  return html`${n?.reason && html`<p class="soft says">${n.reason}</p>`}
    ${n?.arguments && html`<${Scrolled} of=${n.arguments} />`}`;
}

export function Run({ id }) {
  const path = "/v1/runs/" + encodeURIComponent(id);
  const { data: r, error, again } = useGet(path);
  useEffect(() => {
    const stop = new AbortController();
    events(path + "/events", again, stop.signal).then(again, () => {});
    return () => stop.abort();
  }, [id]);
  if (!r) return html`<${Failed} error=${error} />`;
  const decide = (node, deny) => () => post(path + "/approve", { nodes: [node], deny });
  const waits = new Set(r.waiting ?? []);
  return html`
    <p aria-live="polite">Run ${r.id}: <strong>${r.state}</strong>. Started ${time(r.started_at)}${r.ended_at
      && `, ended ${time(r.ended_at)}`}; ${r.done} done, ${r.failed} failed, ${r.skipped} skipped. ${r.error}</p>
    ${(r.warnings ?? []).map((w) => html`<p class="problem note">${w}</p>`)}
    ${!r.ended_at && html`<${Act} label="Cancel the run" confirm="Cancel this run?"
      act=${() => post(path + "/cancel", {})} then=${again} />`}
    ${[...waits].map((node) => html`<div class="card">
      <p>Node ${node} waits for approval: ${r.nodes.find((n) => n.id === node)?.tool}.</p>${waitsFor(r, node)}
      <div class="row"><${Act} label=${`Approve ${node}`} act=${decide(node, false)} then=${again} />
        <${Act} label=${`Deny ${node}`} act=${decide(node, true)} then=${again} /></div></div>`)}
    <${Dag} name=${r.id}
      nodes=${r.nodes.map((n) => ({ ...n, note: words(n.state) + (n.attempts > 1 ? `, ${n.attempts} attempts` : "") }))} />
    <${Timeline} nodes=${r.nodes} />
    <${Table} caption="Nodes" head=${["node", "tool", "state", "attempts", "started", "ms", "error or reason"]}
      numbers=${[3, 5]}
      rows=${r.nodes.map((n) => [n.id, n.tool, words(n.state), n.attempts ?? 0, time(n.started_at), n.duration_ms ?? "–",
        n.error ?? n.reason ?? ""])} />
    ${r.nodes.map((n) => (n.arguments || n.result)
      && html`<details><summary>Arguments and result of ${n.id}</summary>
        <${Scrolled} of=${{ arguments: n.arguments, result: n.result }} /></details>`)}
    ${r.output !== undefined && html`<h2>Output</h2><${Scrolled} of=${r.output} />`}
    <${Source} request=${"GET " + path} data=${r} name=${r.id} />
  `;
}
