// The fields that ask for a suggestion: what was done so far, and what the task is about.
import { post } from "./api.js";
import { html } from "./html.js";
import { useEffect, useState } from "./vendored/hooks.mjs";

/** An input of one id, which offers what the search finds. */
export function IdInput({ label, value, onInput, onEnter, kinds }) {
  const [found, set] = useState([]);
  useEffect(() => {
    if (value.length < 2) return set([]);
    const stop = new AbortController();
    const timer = setTimeout(() => post("/v1/search", { query: value, limit: 12, kinds, explain: false }, stop.signal)
      .then((a) => set(a.results ?? []), () => {}), 150);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [value]);
  const list = "list-" + label.replaceAll(" ", "-");
  return html`<label>${label}
    <input value=${value} list=${list} size="28" onInput=${(e) => onInput(e.currentTarget.value)}
      onKeyDown=${(e) => { if (e.key === "Enter" && onEnter) { e.preventDefault(); onEnter(); } }} />
    <datalist id=${list}>${found.map((r) => html`<option value=${r.id} />`)}</datalist>
  </label>`;
}

/**
 * The question of an address, and what was typed since: [question, change(part) → question].
 * @template T @param {string} address @param {T} asked @returns {[T, (part: Partial<T>) => T]}
 */
export function useQuestion(address, asked) {
  const [typed, type] = useState({ of: address, part: {} });
  const now = typed.of === address ? { ...asked, ...typed.part } : asked;
  return [now, (part) => { type({ of: address, part: { ...now, ...part } }); return { ...now, ...part }; }];
}

/** @param {{context: string[], onChange: (context: string[]) => void}} p */
export function Context({ context, onChange }) {
  const [id, set] = useState("");
  const add = () => { if (id.trim()) { onChange([...context, id.trim()]); set(""); } };
  return html`<div>
    <div class="row">
      <${IdInput} label="Tool that was used" value=${id} onInput=${set} onEnter=${add} kinds=${["tool"]} />
      <button type="button" onClick=${add}>Add to context</button></div>
    ${context.length > 0 && html`<ol class="chips" aria-label="Context, in order">
      ${context.map((c, i) => html`<li><button type="button" aria-label=${`Remove ${c}`}
        onClick=${() => onChange(context.filter((_, k) => k !== i))}>${c} ×</button></li>`)}</ol>`}
  </div>`;
}

export function Profile({ value, onChange }) {
  return html`<label>Profile<select value=${value} onChange=${(e) => onChange(e.currentTarget.value)}>
    ${["learned", "seed"].map((p) => html`<option value=${p}>${p}</option>`)}</select></label>`;
}
