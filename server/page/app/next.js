// Screen Next: candidates for a context and an intent, the terms of each, and why an id is missing.
import { post } from "./api.js";
import { html } from "./html.js";
import { Evidence } from "./map.js";
import { Context, IdInput, Profile, useQuestion } from "./question.js";
import { go, href } from "./route.js";
import { Failed, NoHistory, number, rounded, Source, Table, warning } from "./ui.js";
import { Waterfall } from "./waterfall.js";
import { useEffect, useState } from "./vendored/hooks.mjs";

/** The question that an address asks. */
function asked(query) {
  return { context: query.getAll("context"), intent: query.get("intent") ?? "",
    profile: query.get("profile") ?? "learned", limit: Number(query.get("limit")) || 5 };
}

function Explain({ question }) {
  const [id, set] = useState(""), [state, show] = useState({ data: null, error: null });
  const ask = () => id.trim() && post("/v1/explain", { id: id.trim(), ...question })
    .then((data) => show({ data, error: null }), (error) => show({ data: null, error }));
  const a = state.data;
  return html`<section><h2>Why an id is, or is not, suggested</h2>
    <div class="row"><${IdInput} label="Tool or capability" value=${id} onInput=${set} onEnter=${ask} />
      <button type="button" disabled=${!id.trim()} onClick=${ask}>Explain</button></div>
    <${Failed} error=${state.error} />
    ${a && html`
      <p><strong>${a.id}</strong>: ${a.suggested ? `suggested, rank ${a.rank} of ${a.of}` : "not suggested"}.
        ${" "}${rounded(a.reason)}${a.absent_reason && ` (${a.absent_reason})`}</p>
      <${Table} caption="Rules" head=${["rule", "passed", "detail"]}
        rows=${(a.filters ?? []).map((f) => [f.name, f.passed ? "yes" : "no", rounded(f.detail)])} />
      ${(a.terms ?? []).length > 0 && html`<${Waterfall} suggestion=${a} />`}
      <${Source} request="POST /v1/explain" data=${a} name="explain" />`}
  </section>`;
}

function Candidate({ s, rank, last }) {
  const e = s.evidence ?? {}, [tasks, show] = useState(false);
  return html`<article class="card"><h2>${rank}. ${s.id} <span class="soft">${s.kind}</span></h2>
    <p>Confidence ${number(s.confidence)}: ${rounded(s.reason)}
      <span class="soft">${e.of > 0 && `; seen here ${number(e.count)} of ${number(e.of)} times`};
        ${" "}successes: ${e.successes ?? 0}, failures: ${e.failures ?? 0}</span></p>
    <details open=${rank === 1}><summary>Terms of the score</summary><${Waterfall} suggestion=${s} /></details>
    ${last && html`<details onToggle=${(e) => show(e.currentTarget.open)}>
      <summary>Past tasks in which it followed ${last}</summary>
      ${tasks && html`<${Evidence} from=${last} to=${s.id} />`}</details>`}
  </article>`;
}

export function Next({ route }) {
  const [state, show] = useState({ data: null, error: null });
  const address = route.query.toString();
  useEffect(() => {
    const now = asked(route.query), stop = new AbortController();
    post("/v1/next", now, stop.signal).then((data) => show({ of: address, data, error: null }),
      (error) => stop.signal.aborted || show({ of: address, data: null, error }));
    return () => stop.abort();
  }, [address]);
  const [q, change] = useQuestion(address, asked(route.query));
  const ask = (now) => go("next", { ...now, limit: String(now.limit) });
  const a = state.of === address ? state.data : null, last = q.context.at(-1);
  return html`
    <${Context} context=${q.context} onChange=${(context) => ask(change({ context }))} />
    <form onSubmit=${(e) => { e.preventDefault(); ask(q); }}>
      <label class="wide">Intent<input value=${q.intent}
        onInput=${(e) => change({ intent: e.currentTarget.value })} /></label>
      <${Profile} value=${q.profile} onChange=${(profile) => ask(change({ profile }))} />
      <label>Suggestions<input type="number" min="1" max="100" value=${q.limit}
        onInput=${(e) => change({ limit: Number(e.currentTarget.value) || 5 })} /></label>
      <button>Ask</button>
    </form>
    <${Failed} error=${state.error} />
    ${a && html`
      <p>Profile ${a.model.profile}, model ${a.model.version.slice(0, 19)};
        probability that the task ends here ${number(a.stop)}
        ${a.abstained && "; abstained: nothing is confident enough"}</p>
      ${(a.warnings ?? []).map((w) => html`<p class="problem note">${warning(w)}</p>`)}
      ${(a.unknown_ids ?? []).length > 0
        && html`<p class="problem">Unknown: ${a.unknown_ids.map((u) => u.id).join(", ")}</p>`}
      ${a.suggestions.length === 0
        ? html`<${NoHistory}>There is nothing to suggest.<//>`
        : html`<${Table} caption="Candidates" numbers=${[0, 2, 3, 4, 5]}
          head=${["rank", "id", "confidence", "seen here", "successes", "failures", "reason"]}
          rows=${a.suggestions.map((s, i) => [i + 1, s.id, number(s.confidence), s.evidence?.count ?? 0,
            s.evidence?.successes ?? 0, s.evidence?.failures ?? 0, rounded(s.reason)])} />`}
      ${a.suggestions.length > 0 && html`<p class="soft">Successes and failures are those right after the last tool
        where at least 5 outcomes are known, else those of the tool in all.${last
          && html` <a href=${href("operations/tools", { after: last, order: "failures" })}>
            All calls right after ${last}</a>`}</p>`}
      <${Source} request="POST /v1/next" data=${a} name="next" />
      ${a.suggestions.map((s, i) => html`<${Candidate} key=${s.id} s=${s} rank=${i + 1} last=${last} />`)}
      <${Explain} question=${{ context: q.context, intent: q.intent, profile: q.profile, limit: q.limit }} />
    `}
  `;
}
