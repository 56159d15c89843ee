// Screen Changes: what two models have and do differently.
import { h, Fragment } from "preact";
import { useState } from "preact/hooks";
import { go } from "./route.js";
import { Empty, Failed, number, Source, Table, time, useGet } from "./ui.jsx";

const names = (caption, ids) => ids.length > 0 && <details open={ids.length <= 20}><summary>{caption}: {ids.length}</summary><Table caption={caption} head={["id"]} rows={ids.map((id) => [id])} /></details>;
const edges = (caption, list) => list.length > 0 && <details open={list.length <= 20}><summary>{caption}: {list.length}</summary>
  <Table caption={caption} head={["from", "to", "weight", "count"]} numbers={[2, 3]} rows={list.map((e) => [e.from, e.to, number(e.weight), e.count])} /></details>;

export function Changes({ route, stats }) {
  const from = route.query.get("from") ?? "previous", to = route.query.get("to") ?? "current";
  const [q, set] = useState({ from, to });
  const path = `/v1/graph/diff?from=${encodeURIComponent(from)}&to=${encodeURIComponent(to)}`;
  const { data: d, error } = useGet(path);
  const field = (name) => <label class="wide">{name === "from" ? "From" : "To"}<input value={q[name]} onInput={(e) => set({ ...q, [name]: e.currentTarget.value })} /></label>;
  return <>
    <form onSubmit={(e) => { e.preventDefault(); go("changes", q); }}>{field("from")}{field("to")}<button>Compare</button></form>
    <p class="soft">A model is named current, previous, or by its version; the model in memory before this one and two builds on disk can be compared.{stats?.model?.built_at && ` The current one was built ${time(stats.model.built_at)}.`}</p>
    <Failed error={error} />
    {error?.status === 404 && <Empty command="waymark import history.jsonl">There is no earlier model to compare with.</Empty>}
    {d && <>
      <p>{d.from.slice(0, 19)} → {d.to.slice(0, 19)}</p>
      <Table caption="Summary" head={["what", "number"]} numbers={[1]} rows={[["tools and capabilities that came", d.added.length], ["that went", d.removed.length],
        ["edges that came", d.edges_added.length], ["edges that went", d.edges_removed.length], ["edges of other weight", d.edges_changed],
        ["ids whose community has other members", d.community_changed.length], ["ids whose cluster has other members", d.cluster_changed.length], ["answers that changed", d.answers_changed.length]]} />
      <h2>Answers that changed</h2>
      {d.answers_changed.length === 0 ? <p>None of the questions after the 20 most used tools has another answer.</p>
        : <Table caption="What comes next after the most used tools" head={["after", "before", "now"]} rows={d.answers_changed.map((a) => [a.after, a.before.join("\n"), a.now.join("\n")])} />}
      <h2>Graph</h2>
      {names("Came", d.added)}{names("Went", d.removed)}{edges("Edges that came", d.edges_added)}{edges("Edges that went", d.edges_removed)}
      {names("Community has other members", d.community_changed)}{names("Cluster has other members", d.cluster_changed)}
      <Source request={"GET " + path} data={d} name="diff" />
    </>}
  </>;
}
