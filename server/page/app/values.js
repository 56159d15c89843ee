// Starts a run. Where values of arguments are missing, the server refuses it with one form for all of them, shown here.
import { html } from "./html.js";
import { Failed } from "./ui.js";
import { useState } from "./vendored/hooks.mjs";

const WORDS = ["string", "integer", "number", "boolean"];

/** The value that a field holds: text stays text, all else is JSON. */
export function read(schema, text) {
  if (schema.type === "string") return text;
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${JSON.stringify(text)} is not JSON of the type ${schema.type ?? "any"}`);
  }
}

function Field({ task, name, schema, required, value, onInput }) {
  const label = `${task}: ${name}${required ? "" : " (optional)"}`;
  const options = schema.enum ?? (schema.type === "boolean" ? [true, false] : null);
  const props = { value: value ?? "", required, onInput: (e) => onInput(e.currentTarget.value) };
  return html`<label class="wide">${label}${schema.description && ". " + schema.description}
    ${options ? html`<select ...${props}><option value="" />
      ${options.map((o) => html`<option value=${schema.type === "string" ? o : JSON.stringify(o)}>
        ${String(o)}</option>`)}</select>`
      : WORDS.includes(schema.type) ? html`<input ...${props} type=${schema.type === "string" ? "text" : "number"}
        step=${schema.type === "integer" ? 1 : "any"} />`
      : html`<textarea ...${props} rows="3" placeholder=${schema.type === "array" ? "[…]" : "{…}"} />`}
  </label>`;
}

/**
 * Buttons that ask for a run, and the form of the values that it is missing.
 * @param {{begin: (body: {dry_run?: boolean, values?: object}) => Promise<any>, label: string, confirm: string,
 *   onRun: (r: any) => void, onPlan: (r: any) => void}} p
 */
export function Start({ begin, label, confirm, onRun, onPlan }) {
  const [form, ask] = useState(null), [given, set] = useState({});
  const [error, fail] = useState(null), [busy, work] = useState(false);
  const values = () => {
    const all = {};
    for (const [task, part] of Object.entries(form?.properties ?? {})) {
      if (!part.properties) { if (given[task]) all[task] = read(part, given[task]); continue; } // intent
      for (const [name, schema] of Object.entries(part.properties)) {
        const text = given[task + "." + name];
        if (text) (all[task] ??= {})[name] = read(schema, text);
      }
    }
    return all;
  };
  const start = async (dry_run) => {
    work(true); fail(null);
    try {
      const answer = await begin({ dry_run: dry_run || undefined, values: form ? values() : undefined });
      (dry_run ? onPlan : onRun)(answer);
    } catch (e) {
      const missing = (e.errors ?? []).find((x) => x.location === "body.values")?.value;
      if (missing) ask((f) => merge(f, missing));
      fail(missing ? new Error(form ? e.message : "Some arguments have no value yet: fill in the form.") : e);
    }
    work(false);
  };
  const submit = (e) => { e.preventDefault(); if (window.confirm(confirm)) start(false); };
  return html`<form class="start" onSubmit=${submit} aria-label=${label}>
    ${form && Object.entries(form.properties).flatMap(([task, part]) => (part.properties
      ? Object.entries(part.properties).map(([name, schema]) =>
        html`<${Field} task=${`${task} ${part.title ?? ""}`.trim()} name=${name} schema=${schema}
          required=${(part.required ?? []).includes(name)} value=${given[task + "." + name]}
          onInput=${(v) => set((g) => ({ ...g, [task + "." + name]: v }))} />`)
      : [html`<${Field} task="run" name=${task} schema=${part} required=${(form.required ?? []).includes(task)}
        value=${given[task]} onInput=${(v) => set((g) => ({ ...g, [task]: v }))} />`]))}
    <div class="row"><button type="button" disabled=${busy}
      onClick=${(e) => e.currentTarget.form.reportValidity() && start(true)}>Show what a run would do</button>
      <button disabled=${busy}>${label}</button></div>
    <${Failed} error=${error} />
  </form>`;
}

/** The fields asked for so far and those asked for now: the server asks only for what is still missing. */
function merge(before, now) {
  const properties = { ...before?.properties };
  for (const [task, part] of Object.entries(now.properties)) {
    const had = properties[task];
    properties[task] = !had?.properties ? part : {
      ...part,
      properties: { ...had.properties, ...part.properties },
      required: [...(had.required ?? []), ...(part.required ?? [])],
    };
  }
  return { ...now, properties };
}

/** What a run would do, node by node. */
export const planRows = (plan) =>
  plan.nodes.map((n) => [n.id, n.tool, n.layer, n.approval ?? "not needed", n.when ?? ""]);
