// Screen Proof: what held-out tasks of the own history say about the profile, and what became of the last rebuild.
import { h, Fragment } from "preact";
import { Curve, Empty, Failed, number, Source, Table, time, useGet } from "./ui.jsx";

const KINDS = [["next", "next tool"], ["next_intent", "next tool, intent known"], ["intent", "plan for an intent"]];
const interval = (i) => (i ? `${number(i[0])} to ${number(i[1])}` : "–");

const WORDS = [
  ["hit@k", "share of questions whose right tool is among the first k suggestions"], ["mrr", "mean of 1 / rank of the right tool"], ["recall@k", "share of the tools of the task among the first k"],
  ["ndcg@10, map@10", "how high the tools of the task stand among the first 10"], ["node_f1, link_f1", "agreement of the tools, or of the links between them, with those of the task"], ["accuracy", "share of plans that are the task exactly"],
  ["popularity", "what is called most often"], ["markov1, markov2", "what most often came after the last tool, or the last two"], ["markov2_knn", "the same, mixed with the tools of the past tasks most like this one"],
  ["cooc, edges, session", "what was used in the same tasks, came after earlier tools, or was used in like sessions"], ["bm25", "words of the tools' texts"], ["knn, fusion", "the past tasks most like this one, alone or with bm25"], ["copy", "the most similar past task as it was"],
];

const QUESTIONS = { next: "next tool", next_intent: "next tool, intent known", tools: "tools for an intent", dag: "plan for an intent", official: "plan, official metric" };

/** How far the confidence of the first suggestion can be trusted, and the risk when only the most confident are answered. */
function Trust({ kind, label, next: n }) {
  if (!n?.reliability?.length) return null;
  const calibrated = n.calibrated === null ? "too few claims to tell whether it is calibrated" : n.calibrated ? "calibrated" : "not calibrated";
  return <><h3>Confidence, {label}</h3>
    <p>The confidence is off by {number(n.ece)} on average, over {n.claims} suggestions: {calibrated}. On the dashed line, confidence and share that is right would be the same.</p>
    <p class="soft">Coverage: the share of questions that is answered if only the most confident suggestions are shown; risk: the share of these that is wrong. Area under that curve {number(n.aurc)}.</p>
    <div class="row"><Curve name={"reliability-" + kind} label={`Reliability, ${label}: confidence and how often it is right; the tables below have the same numbers`} x="confidence" y="right" ideal={[[0, 0], [1, 1]]} points={n.reliability.map((b) => [b.confidence, b.right])} />
      {n.risk_coverage?.length > 0 && <Curve name={"risk-" + kind} label={`Risk at each coverage, ${label}; the tables below have the same numbers`} x="coverage" y="risk" points={n.risk_coverage.map((p) => [p.coverage, p.risk])} />}</div>
    <details><summary>The same as tables</summary><Table caption={`Reliability, ${label}`} head={["confidence", "right", "claims"]} numbers={[0, 1, 2]} rows={n.reliability.map((b) => [number(b.confidence), number(b.right), b.claims])} />
    <Table caption={`Risk and coverage, ${label}`} head={["coverage", "risk", "from confidence"]} numbers={[0, 1, 2]} rows={(n.risk_coverage ?? []).map((p) => [number(p.coverage, 2), number(p.risk), number(p.confidence)])} /></details>
  </>;
}

function Evaluation() {
  const { data: d, error } = useGet("/v1/evaluation");
  if (error) return error.status === 404 ? <Empty command="waymark evaluate --store">No evaluation on this history is stored.</Empty> : <Failed error={error} />;
  if (!d) return null;
  const r = d.report;
  return <>
    <p>Stored {time(d.at)}: profile {r.profile}, {r.train_episodes} train episodes, {r.test_episodes} held out.</p>
    <Table caption="Metrics beside the best baseline; intervals have 95 %" numbers={[2, 3, 6, 7]} head={["questions", "metric", "tasks", "value", "interval", "best baseline", "its value", "lead", "interval of the lead", "verdict"]}
      rows={d.comparisons.map((c) => [QUESTIONS[c.question] ?? c.question, c.metric, c.tasks, number(c.value), interval(c.interval), c.baseline ?? "–", c.baseline ? number(c.baseline_value) : "–",
        number(c.lead?.[0]), interval(c.lead?.slice(1)), c.verdict ?? "–"])} />
    <details><summary>What the metrics and baselines are</summary><dl>{WORDS.map(([name, text]) => <><dt>{name}</dt><dd>{text}</dd></>)}</dl></details>
    <Trust kind="next" label="next tool" next={r.next} /><Trust kind="next-intent" label="next tool, intent known" next={r.next_intent} />
    <Source request="GET /v1/evaluation" data={d} name="evaluation" />
  </>;
}

const outcome = (d) => [d.published ? "published" : "refused, the model before stays", d.forced && "forced"].filter(Boolean).join(", ");
const gateRows = (d) => {
  const judged = KINDS.filter(([k]) => d.gate?.[k]?.metric);
  const row = [d.event, d.judged_at ? time(d.judged_at) : "–", outcome(d)];
  return judged.length ? judged.map(([k, label]) => { const c = d.gate[k]; return [...row, label, c.metric, c.questions, number(c.published), number(c.new), number(c.gain), interval(c.interval)]; }) : [[...row, ...Array(7).fill("–")]];
};

export function Proof({ stats }) {
  const rows = stats?.rebuild ? gateRows(stats.rebuild) : [];
  return <>
    <h2>Evaluation on the own history</h2>
    <Evaluation />
    <h2>Decision of the rebuild gate</h2>
    {rows.length ? <Table caption="The last rebuild that was judged" numbers={[0, 5, 6, 7, 8]} rows={rows}
      head={["event", "judged", "decision", "questions", "metric", "number", "published model", "new model", "gain", "interval of the gain, 95 %"]} />
      : stats && <Empty command="waymark rebuild">No rebuild was judged.</Empty>}
    <Source request="GET /v1/stats" data={stats} name="stats" />
  </>;
}
