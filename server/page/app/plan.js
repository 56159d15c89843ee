// Screen Plan and runs: the DAG for an intent, and the runs of DAGs.
import { post } from "./api.js";
import { Dag } from "./dag.js";
import { html } from "./html.js";
import { Context, Profile, useQuestion } from "./question.js";
import { go, href } from "./route.js";
import { Run, Runs } from "./runs.js";
import { Failed, number, rounded, Source, Table, Value, warning } from "./ui.js";
import { planRows, Start } from "./values.js";
import { Waterfall } from "./waterfall.js";
import { useEffect, useState } from "./vendored/hooks.mjs";

function asked(query) {
  return { context: query.getAll("context"), intent: query.get("intent") ?? "",
    profile: query.get("profile") ?? "learned", max_steps: Number(query.get("max_steps")) || undefined };
}

const passed = (t) => ({ ...t.arguments, ...Object.fromEntries((t.missing ?? []).map((name) => [name, "?"])) });

function Planned({ answer: a }) {
  const [dry, setDry] = useState(null);
  const tasks = a.dag.tasks;
  return html`
    <p>Confidence ${number(a.confidence)}, profile ${a.model.profile}. ${rounded(a.rationale)}</p>
    ${(a.warnings ?? []).map((w) => html`<p class="problem note">${warning(w)}</p>`)}
    ${tasks.length > 0 && html`<${Dag} name="plan"
      nodes=${tasks.map((t) => ({ ...t, note: `${t.kind}, confidence ${number(t.confidence)}` }))} />`}
    <${Table} caption="Tasks" head=${["task", "tool", "kind", "confidence", "depends on", "arguments", "reason"]}
      numbers=${[3]}
      rows=${tasks.map((t) => [t.id, t.tool, t.kind, number(t.confidence), (t.depends_on ?? []).join(", "),
        html`<${Value} of=${passed(t)} />`, rounded(t.reason)])} />
    ${a.alternatives.length > 0 && html`<${Table} caption="Alternatives" head=${["for", "id", "score"]} numbers=${[2]}
      rows=${a.alternatives.map((x) => [x.for || "any", x.id, number(x.score)])} />`}
    <${Source} request="POST /v1/dag" data=${a} name="dag" />
    ${tasks.map((t) => html`<details><summary>Terms of ${t.id}: ${t.tool}</summary>
      <${Waterfall} suggestion=${{ ...t, id: t.tool, score: t.confidence }} /></details>`)}
    ${tasks.length > 0 && html`<${Start} label="Run" confirm="Call these tools now?"
      begin=${(b) => post("/v1/runs", { dag: a.dag, suggestion_id: a.suggestion_id, ...b })} onPlan=${setDry}
      onRun=${(r) => go("plan", { run: r.id })} />`}
    ${dry?.plan && html`<${Table} caption="A run would" head=${["node", "tool", "layer", "approval", "when"]}
      numbers=${[2]} rows=${planRows(dry.plan)} />`}
  `;
}

export function Plan({ route }) {
  const [state, show] = useState({ data: null, error: null });
  const address = route.query.toString(), run = route.query.get("run");
  useEffect(() => {
    const now = asked(route.query), stop = new AbortController();
    if (!run && (now.intent.trim() || now.context.length)) {
      post("/v1/dag", now, stop.signal).then((data) => show({ of: address, data, error: null }),
        (error) => stop.signal.aborted || show({ of: address, data: null, error }));
    }
    return () => stop.abort();
  }, [address]);
  const [q, change] = useQuestion(address, asked(route.query));
  const ask = (now) => go("plan", { ...now, max_steps: now.max_steps ? String(now.max_steps) : undefined });
  if (run) return html`<p><a href=${href("plan")}>All runs</a></p><${Run} id=${run} />`;
  return html`
    <${Context} context=${q.context} onChange=${(context) => change({ context })} />
    <form onSubmit=${(e) => { e.preventDefault(); ask(q); }}>
      <label class="wide">Intent<input value=${q.intent}
        onInput=${(e) => change({ intent: e.currentTarget.value })} /></label>
      <${Profile} value=${q.profile} onChange=${(profile) => change({ profile })} />
      <label>Most tasks<input type="number" min="1" max="25" value=${q.max_steps ?? ""}
        onInput=${(e) => change({ max_steps: Number(e.currentTarget.value) || undefined })} /></label>
      <button>Plan</button>
    </form>
    ${state.of === address && html`<${Failed} error=${state.error} />
      ${state.data && html`<${Planned} answer=${state.data} />`}`}
    <h2>Runs</h2><${Runs} state=${route.query.get("state") ?? ""} />
  `;
}
