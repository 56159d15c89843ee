// Screen Operations: servers, quarantine, tools, jobs, proposals, keys and workspaces.
import { h, Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { events, post, request } from "./api.js";
import { Act, Empty, Failed, number, Picture, Source, Table, time, useGet } from "./ui.jsx";

/** A part that asks one route and shows its answer or the refusal, for a key may open some parts and not others. */
function Part({ title, path, name, children }) {
  const got = useGet(path);
  return <section><h2>{title}</h2><Failed error={got.error} />{got.data && children(got.data, got.again)}<Source request={"GET " + path} data={got.data} name={name} /></section>;
}

function Quarantine({ data, again }) {
  if (!data.tools.length) return <Empty command="waymark serve --connect">No tool is withheld.</Empty>;
  return data.tools.map((t) => <article class="card"><h3>{t.id}</h3>
    <p>{t.reason}: {t.detail} <span class="soft">{time(t.since)}</span></p>
    {t.flags.length > 0 && <p class="wait">Flags: {t.flags.join(", ")}</p>}
    {(t.changes ?? []).length > 0 && <Table caption="Difference of the contracts" head={["part", "approved", "now"]} rows={t.changes.map((c) => [c.part, text(c.was), text(c.now)])} />}
    {!(t.changes ?? []).length && (t.changed ?? []).length > 0 && <p>Changed: {t.changed.join(", ")}. The contract before is not kept.</p>}
    {t.description && <div class="text" tabIndex={0}>{t.description}</div>}
    <Act label={`Approve ${t.id}`} act={() => post("/v1/quarantine/approve", { tools: [{ id: t.id, fingerprint: t.fingerprint }] })} then={again} />
  </article>);
}

const text = (v) => (v === undefined || v === null ? "–" : typeof v === "string" ? v : JSON.stringify(v, null, 2));

function Jobs({ data, again }) {
  const running = data.jobs.find((j) => j.state === "running");
  useEffect(() => {
    if (!running) return;
    const stop = new AbortController();
    events(`/v1/jobs/${encodeURIComponent(running.id)}/events`, again, stop.signal).then(again, () => {});
    return () => stop.abort();
  }, [running?.id]);
  return <><Act label="Rebuild the model" act={() => post("/v1/rebuild", {})} then={again} />
    <Table caption="Jobs, the newest first" numbers={[3]} head={["job", "state", "reason", "progress", "started", "ended", "action"]}
      rows={data.jobs.map((j) => [j.id, j.state + (j.error ? ": " + j.error : ""), j.reason, number(j.progress, 2), time(j.started_at), time(j.finished_at),
        j.state === "running" && <Act label={`Cancel ${j.id}`} act={() => request("DELETE", "/v1/jobs/" + encodeURIComponent(j.id))} then={again} />])} /></>;
}

function Proposals({ data, again }) {
  return <><Act label="Look for capabilities in the history" act={() => post("/v1/proposals", {})} then={again} />
    {data.proposals.length === 0 && <Empty command="waymark capability propose">There are no proposals.</Empty>}
    {data.proposals.map((p) => { const e = p.evidence, path = "/v1/proposals/" + encodeURIComponent(p.id); return <article class="card"><h3>{p.capability.name || p.id} <span class="soft">{p.state}</span></h3>
      <p>{p.capability.description}</p>
      <p>Tools: {(p.capability.tools ?? []).join(", ")}. In {e.tasks} tasks of {e.sessions} sessions; {e.succeeded} of {e.known} succeeded; saves {e.calls_saved} calls. Composite {number(p.composite)}: {p.verdict}.</p>
      <Table caption="Scores" head={["dimension", "score", "weight", "explanation"]} numbers={[1, 2]} rows={p.scores.map((s) => [s.dimension, s.applies ? number(s.score) : "–", number(s.weight), s.explanation])} />
      {p.state === "proposed" && <div class="row"><Act label={`Approve ${p.id}`} act={() => post(path + "/approve", {})} then={again} />
        <Act label={`Reject ${p.id}`} act={() => post(path + "/reject", {})} then={again} /></div>}</article>; })}</>;
}

const LEAST_SESSIONS = 20; // fewer say nothing about which tools nobody needs

/** Calls and failures of a tool, day by day. */
function Days({ id }) {
  const path = `/v1/tool-stats?tool=${encodeURIComponent(id)}&days=60`, { data, error } = useGet(path);
  const days = [...(data?.tools[0]?.days ?? [])].reverse(), most = Math.max(1, ...days.map((d) => d.calls)), bar = (v) => (v / most) * 120;
  return <section class="card" aria-label={"Days of " + id}><h3>{id}, day by day</h3><Failed error={error} />
    {data && (days.length === 0 ? <p class="soft">The time of its calls is not known.</p> : <>
      <Picture name={"days-" + id} label={`Calls of ${id} on ${days.length} days, failures in red; the table below has the same numbers`} width={Math.max(240, 20 + days.length * 14)} height={150}>
        {days.map((d, i) => <g><rect class="neutral" x={10 + i * 14} width={10} y={130 - bar(d.calls)} height={bar(d.calls)} /><rect class="down" x={10 + i * 14} width={10} y={130 - bar(d.failures)} height={bar(d.failures)} /><title>{d.day}: {d.calls}</title></g>)}
        <text x={10} y={146}>{days[0].day}</text><text x={Math.max(160, days.length * 14 - 54)} y={146}>{days.at(-1).day}</text>
      </Picture>
      <Table caption={`Days with a call of ${id}, the last first`} head={["day", "calls", "successes", "failures"]} numbers={[1, 2, 3]} rows={[...days].reverse().map((d) => [d.day, d.calls, d.successes, d.failures])} /></>)}
    <Source request={"GET " + path} data={data} name="tool-days" /></section>;
}

function ToolStats({ data }) {
  const [chosen, choose] = useState(""), [by, order] = useState("calls");
  const used = data.tools.filter((t) => t.calls > 0), unused = data.tools.filter((t) => t.calls === 0 && t.known);
  if (!used.length) return <Empty command="waymark import history.jsonl">No calls are recorded.</Empty>;
  if (by !== "calls") used.sort((a, b) => (b[by] ?? 0) - (a[by] ?? 0));
  return <><label>Order<select value={by} onChange={(e) => order(e.currentTarget.value)}>{Object.entries({ calls: "calls", failures: "failures", p95_ms: "p95" }).map(([v, name]) => <option value={v}>{name}</option>)}</select></label>
    <Table caption={`Tools by ${by === "p95_ms" ? "p95" : by}, in ${data.episodes} episodes of ${data.sessions} sessions`} numbers={[1, 2, 3, 4, 5]} head={["tool", "calls", "successes", "failures", "p50 ms", "p95 ms", "over time"]}
      rows={used.map((t) => [t.id + (t.known ? "" : " (not in the catalog)"), t.calls, t.successes, t.failures, t.p50_ms ?? "–", t.p95_ms ?? "–", <button type="button" aria-label={"Days of " + t.id} onClick={() => choose(t.id)}>Days</button>])} />
    {chosen && <Days key={chosen} id={chosen} />}
    {data.sessions >= LEAST_SESSIONS ? unused.length > 0 && <details><summary>Tools that were never called: {unused.length}</summary><Table caption="Tools that were never called" head={["tool"]} rows={unused.map((t) => [t.id])} /></details>
      : <p class="soft">Tools that were never called are listed from {LEAST_SESSIONS} sessions on.</p>}</>;
}

export function Operations({ stats }) {
  return <>
    <Part title="Checks" path="/v1/doctor" name="doctor">{(d) => <Table caption="Checks" head={["check", "result", "detail"]} rows={d.checks.map((c) => [c.name, c.ok ? "ok" : "not ok", c.detail])} />}</Part>
    <Part title="Servers" path="/v1/servers" name="servers">{(d) => (d.servers.length
      ? <Table caption="Servers" numbers={[2, 3, 4, 5, 6]} head={["server", "state", "tools", "withheld", "calls", "failures", "mean ms", "circuit breaker", "problem"]}
        rows={d.servers.map((s) => [s.id, s.state, s.tools, s.withheld, s.calls, s.failures, number(s.mean_ms, 1), s.breaker, s.problem ?? ""])} />
      : <Empty command="waymark gateway add">No other servers are defined.</Empty>)}</Part>
    <Part title="Quarantine" path="/v1/quarantine" name="quarantine">{(d, again) => <Quarantine data={d} again={again} />}</Part>
    <Part title="Tools" path="/v1/tool-stats" name="tool-stats">{(d) => <ToolStats data={d} />}</Part>
    <Part title="Jobs" path="/v1/jobs" name="jobs">{(d, again) => <Jobs data={d} again={again} />}</Part>
    <Part title="Proposals" path="/v1/proposals" name="proposals">{(d, again) => <Proposals data={d} again={again} />}</Part>
    <section><h2>Token ledger</h2>{stats && <Table caption="Since the program was started; estimates" head={["what", "number"]} numbers={[1]}
      rows={Object.entries(stats.token_ledger).filter(([, v]) => typeof v === "number").map(([k, v]) => [k.replaceAll("_", " "), number(v)])} />}</section>
    <Part title="Keys" path="/v1/keys" name="keys">{(d) => (d.keys.length
      ? <Table caption="Keys" head={["id", "name", "workspace", "scopes", "created"]} rows={d.keys.map((k) => [k.id, k.name, k.workspace, k.scopes.join(", "), time(k.created_at)])} />
      : <Empty command="waymark keys create">There are no keys.</Empty>)}</Part>
    <Part title="Workspaces" path="/v1/workspaces" name="workspaces">{(d) => <Table caption="Workspaces" head={["name"]} rows={d.workspaces.map((w) => [w])} />}</Part>
  </>;
}
