// A slider for each weight, and the order of candidates it would give.
import { h, Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";
import { post } from "./api.js";
import { Failed, number, Source, Table } from "./ui.jsx";

export function WhatIf({ question }) {
  const [weights, set] = useState({}), [state, show] = useState({ data: null, error: null }), [open, setOpen] = useState(false);
  const body = { ...question, weights }, asked = JSON.stringify(body);
  useEffect(() => set({}), [JSON.stringify(question)]);
  useEffect(() => {
    if (!open) return;
    const stop = new AbortController();
    const timer = setTimeout(() => post("/v1/next/what-if", body, stop.signal).then((data) => show({ data, error: null }), (error) => stop.signal.aborted || show({ ...state, error })), 100);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [asked, open]);
  const a = state.data;
  return <details onToggle={(e) => setOpen(e.currentTarget.open)}><summary>Other weights</summary>
    <p class="soft">This changes nothing: it shows the order that the weights would give.</p>
    <Failed error={state.error} />
    {a && <div class="columns"><div>
      <Table caption="Candidates by these weights" head={["rank", "was", "id", "score", "was"]} numbers={[0, 1, 3, 4]}
        rows={a.ranking.slice(0, 20).map((c) => [c.rank, c.was_rank, c.id + (c.fixed ? " (its formula is no sum)" : ""), number(c.score), number(c.was_score)])} />
      <Source request="POST /v1/next/what-if" data={a} name="what-if" /></div>
      <div><button type="button" onClick={() => set({})}>Weights of the model</button>
        {a.weights.map((w) => { const size = Math.max(1, 2 * Math.abs(w.weight)), now = weights[w.name] ?? w.weight;
          return <label>{w.name}: {number(now, 3)}<input type="range" min={w.weight < 0 ? -size : 0} max={size} step="any" value={now} onInput={(e) => set({ ...weights, [w.name]: Number(e.currentTarget.value) })} /></label>; })}
      </div></div>}
  </details>;
}
