// Rules of the operator.
import { h, Fragment } from "preact";
import { useState } from "preact/hooks";
import { post, request } from "./api.js";
import { IdInput } from "./question.jsx";
import { Act, Empty, Failed, Source, Table, useGet } from "./ui.jsx";

const KINDS = { ban: "never suggest", pin: "suggest first", alias: "count another id for it", trust: "trust a source", split: "split a source by label" };

/** A rule in words. */
function words(r) {
  const when = [r.after && `after ${r.after}`, r.intent && `for “${r.intent}”`].filter(Boolean).join(" ");
  if (r.kind === "alias") return `${r.alias} counts for ${r.tool}`;
  return [KINDS[r.kind] ?? r.kind, r.tool ?? r.source, when].filter(Boolean).join(" ");
}

function Add({ then }) {
  const [r, set] = useState({ kind: "ban", tool: "", after: "", intent: "", alias: "", source: "" }), of = ["trust", "split"].includes(r.kind);
  const field = (name, label) => <label>{label}<input value={r[name]} onInput={(e) => set({ ...r, [name]: e.currentTarget.value })} /></label>;
  const body = () => Object.fromEntries(Object.entries(r).filter(([name, v]) => v.trim() && (name === "kind" || (of ? ["source"] : r.kind === "alias" ? ["tool", "alias"] : r.kind === "pin" ? ["tool", "after", "intent"] : ["tool", "intent"]).includes(name))).map(([name, v]) => [name, v.trim()]));
  return <div class="row">
    <label>Rule<select value={r.kind} onChange={(e) => set({ ...r, kind: e.currentTarget.value })}>{Object.entries(KINDS).map(([k, text]) => <option value={k}>{k}: {text}</option>)}</select></label>
    {of ? field("source", "Source") : <IdInput label="Tool of the rule" value={r.tool} onInput={(tool) => set({ ...r, tool })} />}
    {r.kind === "pin" && field("after", "After")}{["ban", "pin"].includes(r.kind) && field("intent", "For this intent alone")}{r.kind === "alias" && field("alias", "Other id")}
    <Act label="Add the rule" act={() => post("/v1/rules", body())} then={then} />
  </div>;
}

export function Rules() {
  const rules = useGet("/v1/rules"), again = rules.again;
  return <><Failed error={rules.error} />
    {rules.data && (rules.data.rules.length === 0 ? <Empty command="waymark rule ban TOOL">There are no rules.</Empty>
      : <Table caption="Rules; undoing one restores the former answers" head={["kind", "rule", "action"]}
        rows={rules.data.rules.map((r) => [r.kind, words(r), <Act label={`Undo ${r.id}`} act={() => request("DELETE", "/v1/rules/" + encodeURIComponent(r.id))} then={again} />])} />)}
    {rules.data && <Add then={again} />}
    <Source request="GET /v1/rules" data={rules.data} name="rules" />
  </>;
}
