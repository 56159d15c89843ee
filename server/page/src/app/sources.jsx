// Who recorded the history, and what is unusual about it.
import { h, Fragment } from "preact";
import { NoHistory, Source, Table } from "./ui.jsx";

const percent = (n, of) => (of ? ((100 * n) / of).toFixed(1) + " %" : "–");

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
