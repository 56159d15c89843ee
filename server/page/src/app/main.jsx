import { h, Fragment, render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { key, setKey, signIn } from "./api.js";
import { href, useRoute } from "./route.js";
import { useGet } from "./ui.jsx";
import { GraphMap } from "./map.jsx";
import { Next } from "./next.jsx";
import { Plan } from "./plan.jsx";
import { Proof } from "./proof.jsx";
import { Changes } from "./changes.jsx";
import { Operations } from "./operations.jsx";

const SCREENS = { map: ["Map", GraphMap], next: ["Next", Next], plan: ["Plan and runs", Plan], proof: ["Proof", Proof], changes: ["Changes", Changes], operations: ["Operations", Operations] };

/** Follows a sign-in link, whose code leaves the history of the tab at once. */
function Follow({ code }) {
  const [error, set] = useState(null);
  useEffect(() => {
    history.replaceState(null, "", href("sign-in"));
    signIn(code).then(() => location.replace(href("map")), set);
  }, []);
  return error ? <main><h1>Sign in</h1><p class="problem" role="alert">{error.message}</p></main> : <main><h1>Sign in</h1><p>Signing in…</p></main>;
}

/** Asks for a key, which this tab keeps until it is closed. */
function SignIn({ done, problem }) {
  const [value, set] = useState("");
  const submit = (e) => { e.preventDefault(); setKey(value.trim()); done(); };
  return <main><h1>Sign in</h1>
    <p class="problem" role="alert">{problem}</p>
    <form onSubmit={submit}><label class="wide">API key
      <input type="password" autocomplete="off" value={value} onInput={(e) => set(e.currentTarget.value)} /></label>
      <button>Sign in</button></form>
    <p class="soft">The key decides the workspace. It stays in this tab until the tab is closed. <code>waymark keys create</code> makes one; <code>waymark open</code> needs none.</p>
  </main>;
}

function App() {
  const route = useRoute();
  const follows = route.screen === "sign-in" && route.query.get("code");
  return follows ? <Follow code={follows} /> : <Screens route={route} />;
}

function Screens({ route }) {
  const [turn, again] = useState(0);
  const { data: stats, error } = useGet("/v1/stats", [turn]);
  const [name, Screen] = SCREENS[route.screen] ?? SCREENS.map;
  useEffect(() => { document.title = name + " · Waymark"; }, [name]);
  useEffect(() => { document.documentElement.dataset.ready = String(Boolean(stats || error)); });
  return <>
    <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.querySelector("main").focus(); }}>Skip to the content</a>
    <header><strong>Waymark</strong>
      <nav aria-label="Screens">{Object.entries(SCREENS).map(([id, [label]]) =>
        <a href={href(id)} aria-current={label === name ? "page" : undefined}>{label}</a>)}</nav>
      <span class="soft right">{stats && `${stats.tools + stats.observed_tools} tools, ${stats.capabilities} capabilities, ${stats.episodes} episodes`}</span>
      <a href="/status">Status</a><a href="/docs">API</a>
      {key() && <button type="button" onClick={() => { setKey(""); again(turn + 1); }}>Sign out</button>}
    </header>
    {error?.status === 401 || error?.status === 403 ? <SignIn problem={error.message} done={() => again(turn + 1)} />
      : <main id="main" tabIndex={-1}><h1>{name}</h1><Screen key={turn + name} route={route} stats={stats} failed={error} /></main>}
  </>;
}

render(<App />, document.getElementById("app"));
