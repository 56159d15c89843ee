// Screen Proof: what held-out tasks of the own history say about the profiles, and what became of each rebuild.
import { h, Fragment } from "preact";
import { Empty, Failed, number, Picture, Source, Table, time, useGet } from "./ui.jsx";

const KINDS = [["next", "next tool"], ["next_intent", "next tool, intent known"], ["intent", "plan for an intent"]];
const interval = (i) => (i ? `${number(i[0])} to ${number(i[1])}` : "–");

/** Two bars for each kind of question. */
function Bars({ rows, names }) {
  return <Picture name="profiles" label={`${names.join(" beside ")}; the table below has the same numbers`} width={640} height={rows.length * 54 + 10}>
    {rows.map((r, i) => <g><text x={4} y={i * 54 + 18}>{r.label}</text>
      {r.values.map((v, k) => <g><rect class={k ? "neutral" : "frame"} x={200} y={i * 54 + 6 + k * 20} height={16} width={Math.max(1, v * 340)} />
        <text x={206 + v * 340} y={i * 54 + 19 + k * 20}>{names[k]} {number(v)}</text></g>)}</g>)}
  </Picture>;
}

function Profiles({ auto }) {
  const judged = KINDS.filter(([k]) => auto[k]?.profile);
  if (!judged.length) return <Empty command="waymark rebuild">The profiles have not been compared; that needs a longer history.</Empty>;
  return <>
    <Bars names={["seed", "learned"]} rows={judged.map(([k, label]) => ({ label, values: [auto[k].seed, auto[k].learned] }))} />
    <Table caption={`Profiles on held-out tasks, judged ${time(auto.judged_at)}; the interval has 95 %`} numbers={[3, 4, 5, 6]}
      head={["questions", "answered by", "metric", "number", "seed", "learned", "lead of learned", "interval of the lead"]}
      rows={judged.map(([k, label]) => { const j = auto[k]; return [label, j.profile, j.metric, j.questions, number(j.seed), number(j.learned), number(j.lead), interval(j.interval)]; })} />
  </>;
}

const gateRows = (job) => KINDS.filter(([k]) => job.gate?.[k]?.metric).map(([k, label]) => {
  const c = job.gate[k];
  return [job.id, time(job.finished_at), job.state + (job.forced ? ", forced" : ""), label, c.metric, c.questions, number(c.published), number(c.new), number(c.gain), interval(c.interval)];
});

export function Proof({ stats }) {
  const jobs = useGet("/v1/jobs?limit=100"), ab = useGet("/v1/ab");
  const rows = (jobs.data?.jobs ?? []).flatMap(gateRows);
  return <>
    <h2>Profiles</h2>
    {stats && <Profiles auto={stats.auto} />}
    <Source request="GET /v1/stats" data={stats} name="stats" />
    <h2>Decisions of the rebuild gate</h2>
    <Failed error={jobs.error} />
    {stats?.rebuild && <p>Last judged {time(stats.rebuild.judged_at)}: {stats.rebuild.published ? "published" : "not published"}{stats.rebuild.forced && ", forced"}.</p>}
    {rows.length ? <Table caption="Rebuilds that were judged" numbers={[5, 6, 7, 8]} rows={rows}
      head={["job", "ended", "state", "questions", "metric", "number", "published model", "new model", "gain", "interval of the gain, 95 %"]} />
      : jobs.data && <Empty command="waymark rebuild">No rebuild of this process was judged.</Empty>}
    <Source request="GET /v1/jobs?limit=100" data={jobs.data} name="jobs" />
    <h2>Two profiles by what became of their answers</h2>
    <Failed error={ab.error} />
    {ab.data && <><p>{ab.data.logged} answers were logged; {ab.data.ended} have an outcome.</p>{ab.data.notes.map((n) => <p class="soft">{n}</p>)}
      {ab.data.questions.length > 0 && <pre tabIndex={0}>{JSON.stringify(ab.data.questions, null, 2)}</pre>}</>}
    <Source request="GET /v1/ab" data={ab.data} name="ab" />
    <p class="soft">Baselines, reliability and risk at each coverage: <code>waymark evaluate</code> prints them.</p>
  </>;
}
