// Parts that several screens use. Data is only ever put into text nodes and attributes, so that what a tool says of
// itself stays text.
import { h, Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "./api.js";

/** A number as people read it: up to digits decimals, and a leading zero. */
export const number = (v, digits = 4) => (typeof v === "number" ? (Number.isInteger(v) ? String(v) : v.toFixed(digits)) : "–");
export const time = (v) => (v ? v.replace("T", " ").replace(/\..*|Z$/, "") : "–");

/**
 * What a path answers, asked again whenever one of deps changes or again() is called.
 * @returns {{data: any, error: any, again: () => void}}
 */
export function useGet(path, deps = []) {
  const [state, set] = useState({ data: null, error: null });
  const [turn, again] = useState(0);
  useEffect(() => {
    if (!path) return set({ data: null, error: null });
    const stop = new AbortController();
    get(path, stop.signal).then((data) => set({ data, error: null }), (error) => stop.signal.aborted || set({ data: null, error }));
    return () => stop.abort();
  }, [path, turn, ...deps]);
  return { ...state, again: () => again((t) => t + 1) };
}

export function Failed({ error }) {
  return error ? <p class="problem" role="alert">{error.message}</p> : null;
}

/** What fills an empty place. */
export function Empty({ children, command }) {
  return <p class="empty">{children} {command && <>Fill it with <code>{command}</code>.</>}</p>;
}

/** The request behind what is shown, and its answer as a file of JSON. */
export function Source({ request, data, name }) {
  const [url, set] = useState("");
  useEffect(() => {
    if (!data) return;
    const made = URL.createObjectURL(new Blob([JSON.stringify(data, null, 2)], { type: "application/json" }));
    set(made);
    return () => URL.revokeObjectURL(made);
  }, [data]);
  return data ? <p class="soft"><code>{request}</code> · <a href={url} download={(name ?? "answer") + ".json"}>JSON</a></p> : null;
}

/**
 * @param {{caption: string, head: string[], rows: any[][], numbers?: number[]}} p numbers: the columns aligned right
 */
export function Table({ caption, head, rows, numbers = [] }) {
  const cls = (i) => (numbers.includes(i) ? "number" : undefined);
  return <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
    <table><caption>{caption}</caption>
      <thead><tr>{head.map((t, i) => <th scope="col" class={cls(i)}>{t}</th>)}</tr></thead>
      <tbody>{rows.map((row) => <tr>{row.map((cell, i) => <td class={cls(i)}>{cell}</td>)}</tr>)}</tbody>
    </table>
  </div>;
}

/** A picture that can be saved. */
export function Picture({ name, label, width, height, children }) {
  const ref = useRef(null);
  const save = () => {
    const copy = ref.current.cloneNode(true);
    const from = ref.current.querySelectorAll("*"), to = copy.querySelectorAll("*");
    from.forEach((el, i) => {
      const css = getComputedStyle(el);
      for (const p of ["fill", "stroke", "stroke-width", "font-size", "font-family"]) to[i].setAttribute(p, css.getPropertyValue(p));
    });
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const a = document.createElement("a");
    a.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
    a.download = name + ".svg";
    a.click();
    URL.revokeObjectURL(a.href);
  };
  return <div>
    <div class="scroll" tabIndex={0} role="region" aria-label={"Picture: " + label}>
      <svg ref={ref} width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>{children}</svg>
    </div>
    <button type="button" onClick={save}>Save as SVG</button>
  </div>;
}

/** A button that does something on the server and shows a refusal. */
export function Act({ label, act, then, confirm }) {
  const [state, set] = useState({ busy: false, error: null });
  const click = async () => {
    if (confirm && !window.confirm(confirm)) return;
    set({ busy: true, error: null });
    try {
      const answer = await act();
      set({ busy: false, error: null });
      then?.(answer);
    } catch (error) {
      set({ busy: false, error });
    }
  };
  return <><button type="button" disabled={state.busy} onClick={click}>{label}</button><Failed error={state.error} /></>;
}
