// How the terms of a score add up.
import { html } from "./html.js";
import { number, Picture, Table } from "./ui.js";

const SHOWN = 14; // terms with a bar of their own; the table has all of them

/** The terms with a bar, the rest as one, so that the bars still add up to the sum of all. */
export function bars(terms) {
  const size = (t) => Math.abs(t.contribution);
  const sorted = [...terms].sort((a, b) => size(b) - size(a) || (a.name < b.name ? -1 : 1));
  const shown = sorted.slice(0, sorted.length > SHOWN ? SHOWN - 1 : SHOWN), rest = sorted.slice(shown.length);
  if (rest.length) shown.push({ name: `${rest.length} more`, contribution: sum(rest) });
  return shown;
}

export const sum = (terms) => terms.reduce((s, t) => s + t.contribution, 0);

/** How the sum of the terms becomes the score, in words. */
export function adds(s) {
  const total = sum(s.terms ?? []);
  const near = (a, b) => Math.abs(a - b) < 1e-6;
  if (near(total, s.score)) return `The terms add up to the score, ${number(s.score)}.`;
  if (near(1 / (1 + Math.exp(-total)), s.score)) {
    return `The terms add up to ${number(total)}, whose logistic function is the score, ${number(s.score)}.`;
  }
  return `Formula ${s.formula} does not add its terms: see docs/formulas.md. The score is ${number(s.score)}.`;
}

export function Waterfall({ suggestion: s }) {
  const list = bars(s.terms ?? []);
  let at = 0;
  const steps = list.map((t) => { const from = at; at += t.contribution; return { name: t.name, from, to: at }; });
  const low = Math.min(0, ...steps.map((b) => b.to)), high = Math.max(0.01, ...steps.map((b) => b.to));
  const width = Math.min(640, document.documentElement.clientWidth - 70), left = width < 640 ? 100 : 170;
  const x = (v) => left + ((v - low) / (high - low)) * (width - left - 60), height = steps.length * 20 + 10;
  return html`<div>
    <p>${adds(s)}</p>
    <${Picture} name=${"terms-" + s.id} label=${`Terms of ${s.id}`} width=${width} height=${height}>
      <line class="axis" x1=${x(0)} x2=${x(0)} y1="0" y2=${height} />
      ${steps.map((b, i) => html`<g>
        <text x="4" y=${i * 20 + 18}>${b.name}</text>
        <rect class=${b.to >= b.from ? "up" : "down"} x=${Math.min(x(b.from), x(b.to))} y=${i * 20 + 6} height="14"
          width=${Math.max(1, Math.abs(x(b.to) - x(b.from)))} />
        <text x=${Math.max(x(b.from), x(b.to)) + 4} y=${i * 20 + 18}>${number(b.to - b.from)}</text>
      </g>`)}
    <//>
    <${Table} caption=${`Terms of ${s.id}`} head=${["term", "value", "weight", "contribution"]} numbers=${[1, 2, 3]}
      rows=${(s.terms ?? []).map((t) => [t.name, number(t.value), number(t.weight), number(t.contribution)])} />
  </div>`;
}
