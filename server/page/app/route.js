// Addresses of the form #/next?context=a&context=b&intent=…: what a screen shows can be linked to, and nothing of it
// is sent to a server.
import { useEffect, useState } from "./vendored/hooks.mjs";

/** @returns {{screen: string, rest: string, query: URLSearchParams}} */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [screen, ...rest] = path.split("/");
  return { screen: screen || "map", rest: rest.map(decodeURIComponent).join("/"), query: new URLSearchParams(query) };
}

/**
 * @param {string} screen
 * @param {Record<string, string | string[] | null | undefined>} [query] nothing and empty texts stay out
 */
export function href(screen, query = {}) {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const v of [value].flat()) if ((v ?? "") !== "") q.append(name, v);
  }
  return "#/" + screen + (q.size ? "?" + q : "");
}

export const go = (screen, query) => { location.hash = href(screen, query); };

export function useRoute() {
  const [route, set] = useState(() => parse(location.hash));
  useEffect(() => {
    const changed = () => set(parse(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
