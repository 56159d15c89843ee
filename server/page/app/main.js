import { Add } from "./add.js";
import { key, setKey, signIn } from "./api.js";
import { Changes } from "./changes.js";
import { html } from "./html.js";
import { GraphMap } from "./map.js";
import { Next } from "./next.js";
import { Operations } from "./operations.js";
import { Plan } from "./plan.js";
import { Proof } from "./proof.js";
import { href, useRoute } from "./route.js";
import { useGet } from "./ui.js";
import { useEffect, useState } from "./vendored/hooks.mjs";
import { render } from "./vendored/preact.mjs";

/** By address: name, component, and what a person who sees it for the first time has to know. */
const SCREENS = {
  map: ["Map", GraphMap, "Each circle is a tool, or a capability, which is a stored way to use several tools; the "
    + "larger, the more important. A line joins two that were used one after the other; one colour is a group that "
    + "is used together. Choose a circle to see what comes before and after it."],
  next: ["Next", Next, "The tools that usually come next, and why: name the tools used so far, in their order, or "
    + "the task, or both. The confidence estimates how often such a suggestion is right; Proof shows how far that "
    + "holds."],
  plan: ["Plan and runs", Plan, "The tools for a task, their order, and the arguments that one passes to another. A "
    + "plan runs where the servers of its tools are connected (waymark serve --connect); what may change or delete "
    + "things waits for your approval."],
  proof: ["Proof", Proof, "How good the suggestions are on tasks of this history that were held back, beside simple "
    + "methods. Behind: a simple method is better by more than chance."],
  changes: ["Changes", Changes, "How the model differs from an earlier one: tools and links that came or went, and "
    + "requests that are answered otherwise now."],
  operations: ["Operations", Operations, "What waits for a decision, how the tools do, and how the server does."],
};

/** Follows a sign-in link, whose code leaves the history of the tab at once. */
function Follow({ code }) {
  const [error, set] = useState(null);
  useEffect(() => {
    history.replaceState(null, "", href("sign-in"));
    signIn(code).then(() => location.replace(href("map")), set);
  }, []);
  return html`<main id="main" tabIndex="-1"><h1>Sign in</h1>
    ${error ? html`<p class="problem" role="alert">${error.message}</p>` : html`<p>Signing in…</p>`}</main>`;
}

/** Asks for a key, which this tab keeps until it is closed. */
function SignIn({ done, problem }) {
  const [value, set] = useState(""), [tried, attempt] = useState(Boolean(key()));
  const submit = (e) => { e.preventDefault(); setKey(value.trim()); attempt(true); done(); };
  return html`<main id="main" tabIndex="-1"><h1>Sign in</h1>
    ${tried ? html`<p class="problem" role="alert">${problem}</p>`
      : html`<p>This server shows its data to those who have a key.</p>`}
    <form onSubmit=${submit}><label class="wide">API key
      <input type="password" autocomplete="off" value=${value} onInput=${(e) => set(e.currentTarget.value)} /></label>
      <button>Sign in</button></form>
    <p class="soft">The key decides the workspace. It stays in this tab until the tab is closed.
      ${" "}<code>waymark serve</code> prints a link that signs in without one, and${" "}
      <code>waymark keys create</code> makes one.</p>
  </main>`;
}

function App() {
  const route = useRoute();
  const follows = route.screen === "sign-in" && route.query.get("code");
  return follows ? html`<${Follow} code=${follows} />` : html`<${Screens} route=${route} />`;
}

function Screens({ route }) {
  const [turn, again] = useState(0);
  const { data: stats, error } = useGet("/v1/stats", [turn, route.screen]);
  const [name, Screen, about] = SCREENS[route.screen] ?? SCREENS.map, refresh = () => again(turn + 1);
  useEffect(() => { document.title = name + " · Waymark"; }, [name]);
  useEffect(() => { if (error?.status === 401) setKey(""); }, [error]); // a key that is refused is not kept
  useEffect(() => { document.documentElement.dataset.ready = String(Boolean(stats || error)); });
  const skip = (e) => { e.preventDefault(); document.querySelector("main").focus(); };
  const all = stats && stats.tools + stats.observed_tools;
  const fresh = stats && [GraphMap, Next, Plan].includes(Screen) && !(all + stats.capabilities + stats.episodes);
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header><strong>Waymark</strong>
      <nav aria-label="Screens">${Object.entries(SCREENS).map(([id, [label]]) =>
        html`<a href=${href(id)} aria-current=${label === name ? "page" : undefined}>${label}</a>`)}
        <a href="/docs">API</a></nav>
      <span class="soft right">
        ${stats && `${all} tools, ${stats.capabilities} capabilities, ${stats.episodes} episodes`}</span>
      ${key() && error?.status !== 401
        && html`<button type="button" onClick=${() => { setKey(""); refresh(); }}>Sign out</button>`}
    </header>
    ${error?.status === 401 || error?.status === 403 ? html`<${SignIn} problem=${error.message} done=${refresh} />`
      : html`<main id="main" tabIndex="-1"><h1>${name}</h1><p class="soft about">${about}</p>
        ${fresh
          ? html`<p class="empty">This store is empty. Any of these three fills it.</p><${Add} refresh=${refresh} />`
          : html`<${Screen} key=${turn + name} route=${route} stats=${stats} refresh=${refresh} />`}</main>`}
  `;
}

render(html`<${App} />`, document.getElementById("app"));
