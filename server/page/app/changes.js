// Screen Changes: what two models have and do differently.
import { html } from "./html.js";
import { go, href } from "./route.js";
import { Empty, Failed, number, rounded, Source, Table, time, useGet } from "./ui.js";
import { useState } from "./vendored/hooks.mjs";

const SHOWN = 500; // rows of a table; the JSON has all

const names = (caption, ids) => ids.length > 0
  && html`<details open=${ids.length <= 20}><summary>${caption}: ${ids.length}</summary>
    <${Table} caption=${caption} head=${["id"]} rows=${ids.slice(0, SHOWN).map((id) => [id])} /></details>`;
const edges = (caption, list) => list.length > 0
  && html`<details open=${list.length <= 20}><summary>${caption}: ${list.length}</summary>
    <${Table} caption=${caption} head=${["from", "to", "weight", "count"]} numbers=${[2, 3]}
      rows=${list.slice(0, SHOWN).map((e) => [e.from, e.to, number(e.weight), e.count])} /></details>`;

/** A request in words. */
const asked = (a) => [a.after && "after " + a.after, a.intent && `“${a.intent}”`].filter(Boolean).join(" ");
const rank = (r) => r || "not among the best";

function Answer({ a }) {
  return html`<article class="card"><h3>${asked(a)}</h3>
    <div class="columns even">
      <div><p class="soft">before</p><ol>${a.before.map((id) => html`<li>${id}</li>`)}</ol></div>
      <div><p class="soft">now</p><ol>${a.now.map((id) => html`<li>${id}</li>`)}</ol></div></div>
    ${a.profile_before !== a.profile_now
      && html`<p>Profile ${a.profile_before} answered before, ${a.profile_now} now.</p>`}
    <details><summary>Why</summary><${Table} caption=${"What moved " + asked(a)}
      head=${["id", "rank before", "rank now", "score before", "score now", "terms that changed most", "reason"]}
      numbers=${[1, 2, 3, 4]}
      rows=${a.why.map((m) => [m.id, rank(m.was_rank), rank(m.rank), number(m.was_score), number(m.score),
        m.terms.map((t) => `${t.name}: ${number(t.was)} → ${number(t.now)}`).join("\n")
          || (m.was_rank && m.rank ? "the same terms; others moved" : ""), rounded(m.reason)])} /></details>
    <p><a href=${href("next", { context: a.after, intent: a.intent })}>Ask the current model</a></p></article>`;
}

export function Changes({ route, stats }) {
  const get = (name, otherwise) => route.query.get(name) ?? otherwise;
  const now = {
    from: get("from", "previous"), to: get("to", "current"), context: get("context", ""), intent: get("intent", ""),
  };
  const [q, set] = useState(now);
  const path = "/v1/graph/diff?" + new URLSearchParams(Object.entries(now).filter(([, v]) => v));
  const { data: d, error } = useGet(path), own = now.context || now.intent;
  const field = (name, label) => html`<label class="wide">${label}
    <input value=${q[name]} list=${["from", "to"].includes(name) ? "models" : undefined}
      onInput=${(e) => set({ ...q, [name]: e.currentTarget.value })} /></label>`;
  return html`
    <form onSubmit=${(e) => { e.preventDefault(); go("changes", q); }}>${field("from", "From")}${field("to", "To")}
      ${field("context", "Answer after this tool")}${field("intent", "Answer for this intent")}
      <button>Compare</button></form>
    <datalist id="models"><option value="current" /><option value="previous" /></datalist>
    <p class="soft">A model is named current, previous, or by its version. The model in memory before this one and two
      builds on disk are kept.${stats?.model?.built_at
        && ` The current one was built ${time(stats.model.built_at)}.`}</p>
    ${error?.status === 404 && !route.query.size
      ? html`<${Empty} command="waymark rebuild">
        There is no earlier model to compare with yet; each build keeps one.<//>`
      : error ? html`<${Failed} error=${error} />` : !d && html`<p class="soft">Comparing…</p>`}
    ${d && html`
      <p>${d.from.slice(0, 19)} → ${d.to.slice(0, 19)}</p>
      <${Table} caption="Summary" head=${["what", "number"]} numbers=${[1]}
        rows=${[
          ["tools and capabilities that came", d.added.length], ["that went", d.removed.length],
          ["edges that came", d.edges_added.length], ["edges that went", d.edges_removed.length],
          ["edges of other weight", d.edges_changed],
          ["ids whose community has other members", d.community_changed.length],
          ["ids whose cluster has other members", d.cluster_changed.length],
          ["requests with another answer", d.answers_changed.length]]} />
      <h2>Requests whose answer changed</h2>
      ${d.answers_changed.length === 0 && html`<p>${own ? "This request has the same answer."
        : "The requests after the 20 most used tools, and those of the newest intents, have the same answers."}</p>`}
      ${d.answers_changed.map((a) => html`<${Answer} key=${asked(a)} a=${a} />`)}
      <h2>Graph</h2>
      ${names("Came", d.added)}${names("Went", d.removed)}${edges("Edges that came", d.edges_added)}
      ${edges("Edges that went", d.edges_removed)}
      ${names("Community has other members", d.community_changed)}
      ${names("Cluster has other members", d.cluster_changed)}
      <${Source} request=${"GET " + path} data=${d} name="diff" />
    `}
  `;
}
