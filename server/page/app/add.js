// What fills a store: a file that is imported, a server whose tools are learned, and a host that records its calls.
import { post, request } from "./api.js";
import { html } from "./html.js";
import { go } from "./route.js";
import { Act, useGet } from "./ui.js";
import { useRef, useState } from "./vendored/hooks.mjs";

/** The words of a command line; quotes keep blanks together. */
const words = (line) => [...line.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)]
  .map(([w]) => w.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));

const addServers = async (body) => {
  const { added, connected } = await post("/v1/servers", body);
  return `Added: ${added.join(", ")}. ` + (connected ? "Operations, Servers shows how they start."
    : "They are started where the server runs with waymark serve --connect.");
};

/** A button and what came of it; done, if there is something to see. */
function Told({ label, act, done }) {
  const [said, say] = useState("");
  return html`<div class="row"><${Act} label=${label} act=${act} then=${say} />
    ${said && html`<p aria-live="polite">${said}</p>`}
    ${said && done && html`<button type="button" onClick=${done}>Show the map</button>`}</div>`;
}

function Import({ refresh }) {
  const [file, choose] = useState(null);
  const send = async () => {
    if (!file) throw new Error("Choose a file first.");
    if (file.name.endsWith(".json")) {
      return addServers({ config: await file.text() });
    }
    const { taken: t, rejected_total: refused, rejected: [first] } = await request("POST", "/v1/import", file);
    return `Taken: ${t.tools} tools, ${t.capabilities} capabilities, ${t.episodes} episodes.`
      + (refused ? ` Refused: ${refused} lines, the first line ${first.line}: ${first.error}.` : "");
  };
  return html`<section class="card"><h2>Import a file</h2>
    <p class="soft">An export of Waymark (.jsonl), or the servers of a host's configuration (.json). On the command
      line, <code>waymark import</code> also reads the sessions of Claude Code, Codex and others, traces and OpenAPI
      documents, and <code>waymark import sample</code> an example.</p>
    <label>File<input type="file" accept=".jsonl,.ndjson,.json"
      onChange=${(e) => choose(e.currentTarget.files[0])} /></label>
    <${Told} label="Import" act=${send} done=${() => { go("map"); refresh(); }} /></section>`;
}

export function AddServer() {
  const [v, set] = useState({ id: "", start: "", env: "" });
  const input = (name) => ({ value: v[name], onInput: (e) => set({ ...v, [name]: e.currentTarget.value }) });
  const add = () => {
    const [command, ...args] = words(v.start), lines = v.env.split("\n").filter((l) => l.trim());
    if (!v.id.trim() || !command) throw new Error("Id and command line or URL are needed.");
    if (lines.some((l) => l.indexOf("=") < 1)) throw new Error("Each line of the environment has the form NAME=value.");
    const env = Object.fromEntries(lines.map((l) => [l.slice(0, l.indexOf("=")).trim(), l.slice(l.indexOf("=") + 1)]));
    const start = /^https?:\/\//.test(command) ? { url: command } : { command, args, env };
    return addServers({ servers: [{ id: v.id.trim(), ...start }] });
  };
  return html`<section class="card"><h2>Add a server</h2>
    <p class="soft">Another MCP server, whose tools are suggested, and called through this one.</p>
    <div class="row"><label>Id<input ...${input("id")} placeholder="files" /></label>
      <label class="wide">Command line or URL<input ...${input("start")}
        placeholder="npx -y @modelcontextprotocol/server-filesystem /srv" /></label></div>
    <label>Environment<textarea rows="2" spellcheck=${false} ...${input("env")}
      placeholder="NAME=value, one a line" /></label>
    <${Told} label="Add the server" act=${async () => add()} /></section>`;
}

function HostConfig() {
  const { data } = useGet("/v1/doctor"), shown = useRef(null);
  const dir = data?.settings?.settings.find((s) => s.name === "data" && s.origin !== "default");
  const entry = { command: "waymark", args: ["mcp", ...(dir ? ["--data", dir.value] : [])] };
  const config = JSON.stringify({ mcpServers: { waymark: entry } }, null, 2);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(config);
      return "Copied.";
    } catch { // a browser may refuse, and only offers it over HTTPS or on this machine
      getSelection().selectAllChildren(shown.current);
      return "Selected: copy it with the keys of your system.";
    }
  };
  return html`<section class="card"><h2>Connect a host</h2>
    <p class="soft">The entry for the configuration of an MCP host, which is suggested tools, and whose calls are
      learned from. <code>waymark init</code> writes it for you.</p>
    <pre tabIndex="0" ref=${shown}>${config}</pre><${Told} label="Copy the configuration" act=${copy} /></section>`;
}

export const Add = ({ refresh }) => html`<div class="columns begin">
  <${Import} refresh=${refresh} /><${AddServer} /><${HostConfig} /></div>`;
