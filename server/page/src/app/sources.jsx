// Who recorded the history, what is unusual about it, and how long it is kept.
import { h, Fragment } from "preact";
import { post } from "./api.js";
import { Act, NoHistory, number, Source, Table, time } from "./ui.jsx";

const percent = (n, of) => (of ? ((100 * n) / of).toFixed(1) + " %" : "–");
const size = (bytes) => (bytes >= 1 << 20 ? number(bytes / (1 << 20), 1) + " MiB" : number(bytes / 1024, 1) + " KiB");

export function Sources({ stats }) {
  const names = Object.keys(stats.sources ?? {}).sort(), limited = stats.limited ?? {}, unusual = stats.anomalies ?? [];
  const all = names.reduce((n, s) => n + stats.sources[s], 0), teaching = names.reduce((n, s) => n + stats.sources[s] - (limited[s] ?? 0), 0);
  if (!names.length) return <NoHistory>Nobody has recorded anything.</NoHistory>;
  return <>
    {unusual.length > 0 && <Table caption="Unusual about a source" head={["source", "kind", "detail"]} rows={unusual.map((a) => [a.source, a.kind, a.detail])} />}
    <Table caption="Sources of the history; limited episodes teach nothing more, influence is the share of those that teach" numbers={[1, 2, 3, 4]} head={["source", "episodes", "share", "limited", "influence"]}
      rows={names.map((s) => [s, stats.sources[s], percent(stats.sources[s], all), limited[s] ?? 0, percent(stats.sources[s] - (limited[s] ?? 0), teaching)])} />
    {unusual.length === 0 && <p class="soft">Nothing is unusual about a source.</p>}
    <Source request="GET /v1/stats" data={stats} name="stats" />
  </>;
}

export function Retention({ data: d, again }) {
  const days = d.keep_for_ms / 86400000, rules = [d.keep_for_ms > 0 && `episodes older than ${number(days, 1)} days`, d.keep_episodes > 0 && `all but the newest ${d.keep_episodes} episodes`].filter(Boolean);
  const disk = d.disk ? [["database on the disk", size(d.disk.used_bytes)], ["free on the disk", size(d.disk.free_bytes)], ["days until writes are refused", d.disk.days_until_full === null ? "nothing was recorded in the last 30 days" : d.disk.days_until_full > 36500 ? "more than a hundred years" : number(d.disk.days_until_full, 0)],
    ...d.disk.after.map((f) => [`database in ${f.days} days`, size(f.bytes)])] : [];
  return <>
    <p>{rules.length ? `Once a day is forgotten: ${rules.join(", and ")}.` : <>Nothing is forgotten by itself. <code>waymark serve --keep-for 2160h</code> forgets what is older.</>}</p>
    <Table caption="Size of the history" head={["what", "value"]} numbers={[1]} rows={[["episodes", d.episodes], ["due to be forgotten now", d.due.episodes], ["log", size(d.log_bytes)], ["snapshots", size(d.snapshot_bytes)],
      ["bytes an episode", number(d.bytes_per_episode, 0)], ["episodes a day, last 30 days", number(d.episodes_per_day, 1)], ...disk]} />
    {d.due.episodes > 0 && <Act label={`Forget ${d.due.episodes} episodes now`} confirm={`Forget ${d.due.episodes} episodes? They cannot be brought back.`} act={() => post("/v1/retention", {})} then={again} />}
  </>;
}

export const Audit = ({ data }) => (data.entries.length === 0 ? <p class="soft">No administrative act was recorded.</p>
  : <Table caption="Acts of administrators, the newest first" head={["time", "act", "by", "workspace", "about", "status"]} numbers={[5]} rows={[...data.entries].reverse().map((e) => [time(e.time), e.act, e.source, e.workspace, e.about ?? "", e.status])} />);
