// Screen Operations: what waits for a decision, tools, servers, jobs, checks, keys and workspaces, each on a screen of
// its own.
import { Add, AddServer } from "./add.js";
import { events, post, request } from "./api.js";
import { Dag } from "./dag.js";
import { html } from "./html.js";
import { IdInput } from "./question.js";
import { go, href } from "./route.js";
import { Act, Empty, Failed, NoHistory, number, rounded, Source, Table, time, useGet } from "./ui.js";
import { useEffect, useState } from "./vendored/hooks.mjs";

/** The name of a part, and what it is. */
const Head = ({ id }) => html`<h2>${PARTS[id][0]}</h2><p class="soft about">${PARTS[id][1]}</p>`;

/** A part that asks one route and shows its answer or the refusal, for a key may open some parts and not others. */
function Part({ id, path, children }) {
  const got = useGet(path);
  return html`<section id=${id}><${Head} id=${id} /><${Failed} error=${got.error} />
    ${got.data && children(got.data, got.again)}
    <${Source} request=${"GET " + path} data=${got.data} name=${id} /></section>`;
}

function Quarantine({ data, again }) {
  if (!data.tools.length) return html`<${Empty}>No tool is withheld.<//>`;
  return data.tools.map((t) => html`<article class="card"><h3>${t.id}</h3>
    <p class="says">${t.detail || t.reason} <span class="soft">${time(t.since)}</span></p>
    ${t.flags.length > 0 && html`<p class="wait">Flags: ${t.flags.join(", ")}</p>`}
    ${(t.changes ?? []).length > 0 && html`<${Table} caption="Difference of the contracts"
      head=${["part", "approved", "now"]} rows=${t.changes.map((c) => [c.part, text(c.was), text(c.now)])} />`}
    ${!(t.changes ?? []).length && (t.changed ?? []).length > 0
      && html`<p>Changed: ${t.changed.join(", ")}. What they were is not known.</p>`}
    ${t.description && html`<div class="text" tabIndex="0">${t.description}</div>`}
    <${Act} label=${`Approve ${t.id}`} then=${again}
      act=${() => post("/v1/quarantine/approve", { tools: [{ id: t.id, fingerprint: t.fingerprint }] })} />
  </article>`);
}

const text = (v) => (v === undefined || v === null ? "–" : typeof v === "string" ? v : JSON.stringify(v, null, 2));

function Jobs({ data, again }) {
  const running = data.jobs.find((j) => j.state === "running");
  useEffect(() => {
    if (!running) return;
    const stop = new AbortController();
    events(`/v1/jobs/${encodeURIComponent(running.id)}/events`, again, stop.signal).then(again, () => {});
    return () => stop.abort();
  }, [running?.id]);
  return html`<${Act} label="Rebuild the model" act=${() => post("/v1/rebuild", {})} then=${again} />
    ${data.jobs.length === 0 ? html`<p class="soft">No job has run since the server was started.</p>`
      : html`<${Table} caption="Jobs, the newest first" numbers=${[3]}
        head=${["job", "state", "reason", "progress", "started", "ended", "action"]}
        rows=${data.jobs.map((j) => [j.id, j.state + (j.error ? ": " + j.error : ""), j.reason, number(j.progress),
          time(j.started_at), time(j.finished_at),
          j.state === "running" && html`<${Act} label=${`Cancel ${j.id}`}
            act=${() => request("DELETE", "/v1/jobs/" + encodeURIComponent(j.id))} then=${again} />`])} />`}`;
}

/** The capability of a proposal, which may be edited before it is approved. */
function Edit({ proposal: p, again }) {
  const c = p.capability;
  const [v, set] = useState({
    id: c.id, name: c.name ?? "", description: c.description ?? "", intent: c.intent ?? "",
    tasks: c.tasks ?? [],
  });
  const path = "/v1/proposals/" + encodeURIComponent(p.id);
  const input = (label, value, of) => html`<label class="wide">${label}
    <input value=${value} onInput=${(e) => set({ ...v, ...of(e.currentTarget.value) })} /></label>`;
  const approve = async () => {
    const kept = v.tasks.filter((t) => t.tool.trim()), ids = new Set(kept.map((t) => t.id));
    const tasks = kept.map((t) => ({ ...t, depends_on: t.depends_on?.filter((id) => ids.has(id)) }));
    const now = tasks.length ? { tasks, tools: [...new Set(tasks.map((t) => t.tool))] } : { tasks: undefined };
    return post(path + "/approve", { capability: { ...c, ...v, ...now } });
  };
  return html`<details><summary>Edit</summary>
    ${["Id", "Name", "Description", "Intent"].map((label) =>
      input(label, v[label.toLowerCase()], (text) => ({ [label.toLowerCase()]: text })))}
    ${v.tasks.map((one) => input(`Tool of ${one.id}; empty: without this task`, one.tool,
      (tool) => ({ tasks: v.tasks.map((t) => (t.id === one.id ? { ...t, tool } : t)) })))}</details>
    <div class="row"><${Act} label="Approve" act=${approve} then=${again} />
      <${Act} label="Reject" act=${() => post(path + "/reject", {})} then=${again} /></div>`;
}

function Proposal({ p, open, again }) {
  const e = p.evidence, c = p.capability;
  return html`<article class="card" aria-label=${c.name || p.id}><details open=${open}>
    <summary>${c.name || p.id} <span class="soft">${p.state}</span></summary>
    <p class="text">${c.description}</p>
    <p>In ${e.tasks} tasks of ${e.sessions} sessions; ${e.succeeded} of ${e.known} succeeded;
      saves ${e.calls_saved} calls. Composite ${number(p.composite)}: ${p.verdict}.</p>
    ${(p.notes ?? []).map((n) => html`<p class="wait">${n}</p>`)}
    ${(c.tasks ?? []).length > 0
      ? html`<${Dag} name=${p.id}
        nodes=${c.tasks.map((t) => ({ ...t, note: Object.keys(t.arguments ?? {}).join(", ") }))} />`
      : html`<p>Tools: ${(c.tools ?? []).join(", ")}</p>`}
    <details><summary>Scores</summary>
      <${Table} caption=${"Scores of " + p.id} head=${["dimension", "score", "weight", "explanation"]}
        numbers=${[1, 2]}
        rows=${p.scores.map((s) => [s.dimension, s.applies ? number(s.score) : "–", number(s.weight),
          rounded(s.explanation)])} /></details>
    ${p.state === "proposed" && html`<${Edit} proposal=${p} again=${again} />`}</details></article>`;
}

const FIRST = 10; // proposals on one screen, the best first

function Proposals({ data, again }) {
  const [job, started] = useState(null), [shown, show] = useState(FIRST);
  useEffect(() => {
    if (!job) return;
    const stop = new AbortController();
    events(`/v1/jobs/${encodeURIComponent(job)}/events`, () => {}, stop.signal).then(again, () => {});
    return () => stop.abort();
  }, [job]);
  return html`<${Act} label="Look for capabilities in the history" act=${() => post("/v1/proposals", {})}
    then=${(j) => started(j.id)} />
    ${data.proposals.length === 0 && html`<${Empty} command="waymark capability propose">There are no proposals.<//>`}
    ${data.proposals.slice(0, shown)
      .map((p, i) => html`<${Proposal} key=${p.id} p=${p} open=${i === 0} again=${again} />`)}
    ${data.proposals.length > shown
      && html`<button type="button" onClick=${() => show(Infinity)}>Show all ${data.proposals.length}</button>`}`;
}

const LEAST_SESSIONS = 20; // fewer say nothing about which tools nobody needs
const SHOWN = 200; // rows of a table

/** Tools by one number; the server sorts, for there may be far more than a table shows. */
function ToolStats({ query }) {
  const by = query.get("order") ?? "calls", after = query.get("after") ?? "";
  const [typed, type] = useState(null), tool = typed ?? after;
  const path = `/v1/tool-stats?order=${by}&limit=${SHOWN}` + (after && "&after=" + encodeURIComponent(after));
  const change = (part) => { type(null); go("operations/tools", { order: query.get("order"), after, ...part }); };
  const { data, error } = useGet(path), used = (data?.tools ?? []).filter((t) => t.calls > 0);
  const caption = data && `Tools by ${by}${after && " right after " + after}, in ${data.episodes} episodes of `
    + `${data.sessions} sessions${data.used > used.length ? `; the first ${used.length} of ${data.used}` : ""}`;
  return html`<section id="tools"><${Head} id="tools" />
    <div class="row"><label>Order<select value=${by} onChange=${(e) => change({ order: e.currentTarget.value })}>
      ${["calls", "failures", "p95"].map((v) => html`<option value=${v}>${v}</option>`)}</select></label>
      <${IdInput} label="Only right after this tool" value=${tool} onInput=${type}
        onEnter=${() => change({ after: tool.trim() })} />
      <button type="button" onClick=${() => change({ after: tool.trim() })}>Show</button></div>
    <${Failed} error=${error} />
    ${data && (data.used === 0 && after ? html`<p class="soft">No call right after ${after} is recorded.</p>`
      : data.used === 0 ? html`<${NoHistory}>No calls are recorded.<//>` : html`
      <${Table} caption=${caption} numbers=${[1, 2, 3, 4, 5]}
        head=${["tool", "calls", "successes", "failures", "p50 ms", "p95 ms"]}
        rows=${used.map((t) => [t.id + (t.known ? "" : " (not in the catalog)"), t.calls, t.successes, t.failures,
          t.p50_ms ?? "–", t.p95_ms ?? "–"])} />
      ${after ? null : data.sessions >= LEAST_SESSIONS ? html`<${Unused} count=${data.unused} />`
        : html`<p class="soft">Tools that were never called are listed from ${LEAST_SESSIONS} sessions on.</p>`}`)}
    <${Source} request=${"GET " + path} data=${data} name="tool-stats" /></section>`;
}

function Unused({ count }) {
  const [open, set] = useState(false);
  const { data, error } = useGet(open && `/v1/tool-stats?order=unused&limit=${SHOWN}`);
  if (!count) return html`<p class="soft">Every tool of the catalog was called.</p>`;
  return html`<details onToggle=${(e) => set(e.currentTarget.open)}>
    <summary>Tools that were never called: ${count}</summary><${Failed} error=${error} />
    ${data && html`<${Table} head=${["tool"]} rows=${data.tools.map((t) => [t.id])}
      caption=${"Tools that were never called" + (count > data.tools.length ? `, the first ${data.tools.length}` : "")}
      />`}</details>`;
}

/** Servers, their tools that were called, and the tool sets of agents. */
function Servers({ data: d }) {
  const called = d.servers.flatMap((s) => s.by_tool), agents = Object.entries(d.agents ?? {}).sort();
  return html`${d.servers.length
    ? html`<${Table} caption="Servers" numbers=${[2, 3, 4, 5, 6]}
      head=${["server", "state", "tools", "withheld", "calls", "failures", "mean ms", "circuit breaker", "problem"]}
      rows=${d.servers.map((s) => [s.id, s.state, s.tools, s.withheld, s.calls, s.failures, number(s.mean_ms),
        s.breaker, s.problem ?? ""])} />`
    : html`<${Empty} command="waymark gateway add">No other servers are defined.<//>`}
    ${called.length > 0 && html`<${Table} caption="Calls through the gateway since it was started"
      numbers=${[1, 2, 3, 4]} head=${["tool", "calls", "failures", "p50 ms", "p95 ms"]}
      rows=${called.map((t) => [t.id, t.calls, t.failures, number(t.p50_ms), number(t.p95_ms)])} />`}
    ${d.grants.length > 0 && html`<${Table} caption="Granted: may be called though they may change or delete things"
      head=${["pattern"]} rows=${d.grants.map((g) => [g])} />`}
    ${agents.length > 0 ? html`<${Table} caption="Tool sets of agents" head=${["agent", "tools"]}
      rows=${agents.map(([name, patterns]) => [name, patterns.join("\n")])} />`
      : d.servers.length > 0 && html`<p class="soft">No agent has a tool set of its own.</p>`}`;
}

/** The screens of this screen, the first being what waits for a decision. */
const SCREENS = {
  inbox: ["To decide", () => html`
    <${Part} id="quarantine" path="/v1/quarantine">${(d, again) => html`<${Quarantine} data=${d} again=${again} />`}<//>
    <${Part} id="proposals" path="/v1/proposals">${(d, again) => html`<${Proposals} data=${d} again=${again} />`}<//>`],
  tools: ["Tools", ToolStats],
  servers: ["Servers", () => html`<${Part} id="servers" path="/v1/servers">${(d) => html`<${Servers} data=${d} />`}<//>
    <${AddServer} />`],
  add: ["Add", Add],
  jobs: ["Jobs", () => html`<${Part} id="jobs" path="/v1/jobs">
    ${(d, again) => html`<${Jobs} data=${d} again=${again} />`}<//>`],
  status: ["Status", () => html`<${Part} id="checks" path="/v1/doctor">
    ${(d) => html`<${Table} caption="Checks" head=${["check", "result", "detail"]}
      rows=${d.checks.map((c) => [c.name, c.ok ? "ok" : "not ok", rounded(c.detail)])} />`}<//>`],
  access: ["Access", () => html`
    <${Part} id="keys" path="/v1/keys">${(d) => (d.keys.length
      ? html`<${Table} caption="Keys" head=${["id", "name", "workspace", "agent", "scopes", "created"]}
        rows=${d.keys.map((k) => [k.id, k.name, k.workspace, k.agent ?? "", k.scopes.join(", "),
          time(k.created_at)])} />`
      : html`<${Empty} command="waymark keys create">There are no keys.<//>`)}<//>
    <${Part} id="workspaces" path="/v1/workspaces">
      ${(d) => html`<${Table} caption="Workspaces" head=${["name"]} rows=${d.workspaces.map((w) => [w])} />`}<//>`],
};

/** The parts of these screens: name, and what it is. */
const PARTS = {
  quarantine: ["Quarantine", "Tools that are neither suggested nor called until you approve them: new or changed "
    + "ones, and those whose texts are suspicious."],
  proposals: ["Proposals", "Ways to use several tools that recur in the history. Approved, each is a capability, "
    + "which is suggested and planned like a tool."],
  tools: ["Tools", "Calls, outcomes and durations, from the whole history."],
  servers: ["Servers", "Other MCP servers behind this one."],
  jobs: ["Jobs", "Builds of the model and other long work."],
  checks: ["Checks", "What waymark doctor prints."],
  keys: ["Keys", "Who may use the server, and for what."],
  workspaces: ["Workspaces", "Each has a history and a model of its own."],
};

export function Operations({ route, refresh }) {
  const now = SCREENS[route.rest] ? route.rest : "inbox", Screen = SCREENS[now][1];
  return html`
    <nav class="parts" aria-label="Parts of this screen">
      ${Object.entries(SCREENS).map(([id, [name]]) =>
        html`<a href=${href("operations/" + id)} aria-current=${id === now ? "page" : undefined}>${name}</a>`)}</nav>
    <${Screen} key=${now} query=${route.query} refresh=${refresh} />
  `;
}
