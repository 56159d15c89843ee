// Screen Proof: what held-out tasks of the own history say about the profile, and what became of the last rebuild.
import { html } from "./html.js";
import { Curve, Empty, Failed, number, Source, Table, time, useGet } from "./ui.js";

const KINDS = [["next", "next tool"], ["next_intent", "next tool, intent known"], ["intent", "plan for an intent"]];
const interval = (i) => (i ? `${number(i[0])} to ${number(i[1])}` : "–");

const WORDS = [
  ["hit@k", "share of questions whose right tool is among the first k suggestions"],
  ["mrr", "mean of 1 / rank of the right tool"], ["recall@k", "share of the tools of the task among the first k"],
  ["ndcg@10, map@10", "how high the tools of the task stand among the first 10"],
  ["node_f1, link_f1", "agreement of the tools, or of the links between them, with those of the task"],
  ["accuracy", "share of plans that are the task exactly"],
  ["alone, joined", "hit@1 with the task's own context, or with another task before it"],
  ["seen, own_kept", "share of foreign requests that are taken for foreign, and of the history's own that are not"],
  ["popularity", "what is called most often"],
  ["markov1, markov2", "what most often came after the last tool, or the last two"],
  ["markov2_knn", "the same, mixed with the tools of the past tasks most like this one"],
  ["bm25", "words of the tools' texts"], ["knn", "the past tasks most like this one"],
  ["copy", "the most similar past task as it was"],
];

const QUESTIONS = {
  next: "next tool", next_intent: "next tool, intent known", tools: "tools for an intent", dag: "plan for an intent",
  sessions: "hit@1, another task before", needs: "tool by its own text", foreign: "foreign requests",
};

/** How far the confidence of the first suggestion can be trusted. */
function Trust({ kind, confidence: n }) {
  if (!n?.reliability?.length) return null;
  const label = QUESTIONS[kind];
  const calibrated = n.calibrated === null ? "too few claims to tell whether it is calibrated"
    : n.calibrated ? "calibrated" : "not calibrated";
  return html`<div><h3>Confidence, ${label}</h3>
    <p>The confidence is off by ${number(n.ece)} on average, over ${n.claims} suggestions: ${calibrated}.
      ${" "}On the dashed line, confidence and share that is right would be the same.</p>
    <${Curve} name=${"reliability-" + kind}
      label=${`Reliability, ${label}: confidence and how often it is right; the table below has the same numbers`}
      x="confidence" y="right" ideal=${[[0, 0], [1, 1]]} points=${n.reliability.map((b) => [b.confidence, b.right])} />
    <details><summary>The same as a table</summary>
      <${Table} caption=${`Reliability, ${label}`} head=${["confidence", "right", "claims"]} numbers=${[0, 1, 2]}
        rows=${n.reliability.map((b) => [number(b.confidence), number(b.right), b.claims])} /></details></div>
  `;
}

function Evaluation() {
  const { data: d, error } = useGet("/v1/evaluation");
  if (error?.status === 404) {
    return html`<${Empty} command="waymark evaluate">There is no evaluation on this history.<//>`;
  }
  if (error) return html`<${Failed} error=${error} />`;
  if (!d) return null;
  const r = d.report;
  return html`
    <p>Stored ${time(d.at)}: profile ${r.profile}, ${r.train_episodes} train episodes, ${r.test_episodes} held out.</p>
    <${Table} caption="Metrics beside the seed and the best baseline; intervals have 95 %" numbers=${[2, 3, 5, 7, 8]}
      head=${["questions", "metric", "tasks", "value", "interval", "seed", "best baseline", "its value", "lead",
        "interval of the lead", "verdict"]}
      rows=${r.rows.map((c) => [QUESTIONS[c.question] ?? c.question, c.metric, c.tasks, number(c.value),
        interval(c.ci), number(c.seed?.value), c.baseline?.name ?? "–", number(c.baseline?.value),
        number(c.baseline?.lead.mean), interval(c.baseline?.lead.interval), c.verdict ?? "–"])} />
    <details><summary>What the metrics and baselines are</summary>
      <dl>${WORDS.map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}</dl></details>
    <div class="columns begin">${["next", "next_intent"]
      .map((kind) => html`<${Trust} kind=${kind} confidence=${r.confidence?.[kind]} />`)}</div>
    <${Source} request="GET /v1/evaluation" data=${d} name="evaluation" />
  `;
}

const outcome = (d) => (d.published ? "published" : "refused, the model before stays") + (d.forced ? ", forced" : "");
const gateRows = (d) => {
  const judged = KINDS.filter(([k]) => d.gate?.[k]?.metric);
  const row = [d.event, d.judged_at ? time(d.judged_at) : "–", outcome(d)];
  if (!judged.length) return [[...row, ...Array(7).fill("–")]];
  return judged.map(([k, label]) => {
    const c = d.gate[k];
    return [...row, label, c.metric, c.questions, number(c.published), number(c.new), number(c.gain),
      interval(c.interval)];
  });
};

export function Proof({ stats }) {
  const rows = stats?.rebuild ? gateRows(stats.rebuild) : [];
  return html`
    <h2>Evaluation on the own history</h2>
    <${Evaluation} />
    <h2>Decision of the rebuild gate</h2>
    ${rows.length ? html`<${Table} caption="The last rebuild that was judged" numbers=${[0, 5, 6, 7, 8]} rows=${rows}
      head=${["event", "judged", "decision", "questions", "metric", "number", "published model", "new model", "gain",
        "interval of the gain, 95 %"]} />`
      : stats && html`<${Empty} command="waymark rebuild">No rebuild was judged.<//>`}
    <${Source} request="GET /v1/stats" data=${stats} name="stats" />
  `;
}
