// Tests Waymark with the official MCP software for Node: the TypeScript SDK's client against the program as it is
// shipped, and the conformance suites against a test build that has the suites' fixtures (server/conformance_test.go).
//
//   node run.mjs WAYMARK FIXTURES
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const here = dirname(fileURLToPath(import.meta.url));
const version = (name) => JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"))).version;
const [waymark, fixtures] = process.argv.slice(2);
const work = mkdtempSync(join(tmpdir(), "waymark-conformance-"));
const children = [];
const failures = [];

// start runs a program until stop, and resolves with the first capture of a pattern in its output.
function start(program, args, pattern, env) {
  const child = spawn(program, args, { cwd: work, env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "inherit"] });
  children.push(child);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`${program} ${args.join(" ")} ended with ${code}`)));
    createInterface({ input: child.stdout }).on("line", (line) => {
      const found = line.match(pattern);
      if (found) resolve({ child, value: found[1] });
    });
  });
}

function stop(child) {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once("exit", resolve);
    child.stdin.end();
    child.kill("SIGTERM");
  });
}

async function check(name, test) {
  try {
    const result = await test();
    console.log(`pass  ${name}${result ? `: ${result}` : ""}`);
  } catch (error) {
    failures.push(name);
    console.log(`FAIL  ${name}: ${error.message}`);
  }
}

const hypothesis = { id: "h1", scores: { specificity: 4, novelty: 3, connection_validity: 4, feasibility: 3, grounding: 2 } };
// A minimal valid call of each tool.
const calls = {
  find_tool: { query: "write a note" },
  describe_tool: { ids: ["note:write"] },
  suggest_next: { context: ["note:write"] },
  suggest_dag: { intent: "write and send a note" },
  record_episode: { steps: [{ tool: "note:write" }, { tool: "note:send" }] },
  score: { rubric: "hypothesis", input: { hypotheses: [hypothesis] } },
  triangulate: { question: "Why?", hypotheses: [{ id: "h1", text: "metal fatigue" }, { id: "h2", text: "an earthquake" }] },
  rebuild: {},
};
const upstreamCalls = {
  call_tool: { tool: "desk:stamp", arguments: { letter: "a" } },
  run_dag: { dag: { tasks: [{ id: "a", tool: "desk:stamp", arguments: { letter: "a" } }] } },
};

// exercise is what a host does: list everything, call everything. listed is what other servers add to the list.
async function exercise(transport, expected, listed = []) {
  const client = new Client({ name: "conformance", version: "1" });
  await client.connect(transport);
  try {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((t) => t.name).sort(), [...Object.keys(expected), ...listed].sort());
    for (const [name, args] of Object.entries(expected)) {
      const result = await client.callTool({ name, arguments: args });
      assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
    }
    if (expected.run_dag) {
      const { structuredContent } = await client.callTool({ name: "suggest_dag", arguments: calls.suggest_dag });
      const again = await client.callTool({ name: "run_dag", arguments: { ...structuredContent, dry_run: true } });
      assert.doesNotMatch(JSON.stringify(again.content), /unknown field/);
    }
    if (listed.includes("desk__stamp")) {
      const result = await client.callTool({ name: "desk__stamp", arguments: { letter: "a" } });
      assert.ok(!result.isError, JSON.stringify(result.content));
    }
    const { resources } = await client.listResources();
    assert.deepEqual(resources.map((r) => r.uri).sort(), ["ui://waymark/next", "ui://waymark/plan"]);
    return `${tools.length} tools listed, ${Object.keys(expected).length} called`;
  } finally {
    await client.close();
  }
}

// seed makes a data directory with two tools and an episode.
function seed(name) {
  const lines = (file, ...values) => writeFileSync(join(work, "dataset", file), values.map((v) => JSON.stringify(v) + "\n").join(""));
  mkdirSync(join(work, "dataset"), { recursive: true });
  lines("tools.jsonl", ...["note:write", "note:send"].map((id) => ({ id, description: `${id} a note` })));
  lines("episodes.jsonl", { id: "e1", intent: "write and send a note", steps: [{ tool: "note:write" }, { tool: "note:send" }], outcome: "success" });
  const data = join(work, name);
  execFileSync(waymark, ["import", join(work, "dataset"), "--format", "dataset", "--data", data], { stdio: "ignore" });
  return data;
}

async function clients(upstream) {
  const stdio = (...args) => new StdioClientTransport({ command: waymark, args: ["mcp", ...args], cwd: work, stderr: "inherit" });
  const served = /MCP\s+(http\S+)/;
  await check("client, stdio", () => exercise(stdio("--data", seed("stdio")), calls));

  const data = seed("plain");
  const plain = await start(waymark, ["serve", "--data", data, "--addr", "127.0.0.1:0"], served);
  await check("client, HTTP", () => exercise(new StreamableHTTPClientTransport(new URL(plain.value)), calls));
  await check("client, stdio beside a server", () => exercise(stdio("--data", data), calls));
  await stop(plain.child);

  const config = join(work, "mcp.json");
  writeFileSync(config, JSON.stringify({ mcpServers: { desk: { url: upstream } } }));
  const usable = ["loose", "nothing", "required", "shred", "sign", "stamp", "untyped"].map((name) => `desk__${name}`);
  for (const [mode, listed] of [["auto", usable], ["direct", usable], ["hybrid", ["desk__stamp"]], ["deferred", []]]) {
    const data = seed(`gateway-${mode}`);
    execFileSync(waymark, ["gateway", "add", config, "--yes", "--data", data], { stdio: "ignore" });
    const options = ["--data", data, "--connect", "--tool-mode", mode, ...(mode === "hybrid" ? ["--expose", "desk:stamp"] : [])];
    const gateway = await start(waymark, ["serve", "--addr", "127.0.0.1:0", ...options], served);
    await ready(data);
    await check(`client, gateway, ${mode}`, () => exercise(new StreamableHTTPClientTransport(new URL(gateway.value)), { ...calls, ...upstreamCalls }, [...listed, "call_changing_tool", "read_result"]));
    if (mode === "direct") {
      await check("doctor names the tools that were left out", () => {
        const { checks } = JSON.parse(execFileSync(waymark, ["doctor", "--json", "--data", data]));
        assert.match(checks.find((c) => c.name === "tools of servers").detail, /desk:list: .*array/);
      });
    }
    await stop(gateway.child);
  }
}

// ready waits for the upstream server.
async function ready(data) {
  for (let i = 0; i < 300; i++) {
    const { servers } = JSON.parse(execFileSync(waymark, ["gateway", "list", "--json", "--data", data]));
    if (servers[0]?.state === "ready" && servers[0].tools > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the upstream server is not ready");
}

// suite runs a version of the official suite. Failures beside those of expected-failures.yml give another code than 0.
function suite(name, url, ...options) {
  return check(`${name} ${version(name)}, ${options.join(" ")}`, async () => {
    const child = spawn(process.execPath, [join(here, "node_modules", name, "dist", "index.js"), "server", "--url", url, ...options,
      "--expected-failures", join(here, "expected-failures.yml")], { cwd: work, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.on("data", (d) => (output += d));
    child.stderr.on("data", (d) => (output += d));
    const code = await new Promise((resolve) => child.on("close", resolve));
    if (code !== 0) throw new Error(output.slice(output.indexOf("=== SUMMARY")));
    const passed = [...output.matchAll(/^✓ \S+: (\d+) passed, 0 failed/gm)].map((m) => Number(m[1])).filter((n) => n > 0);
    assert.ok(passed.length > 0, output);
    return `${passed.length} scenarios, ${passed.reduce((a, b) => a + b)} checks passed`;
  });
}

try {
  console.log(`Node ${process.versions.node}, TypeScript SDK ${version("@modelcontextprotocol/sdk")}`);
  const served = await start(fixtures, ["-test.run", "^TestServeConformance$", "-test.timeout", "1h"], /^(\{.*\})$/, { WAYMARK_CONFORMANCE: "1" });
  const { plain, gateway, upstream } = JSON.parse(served.value);
  await clients(upstream);
  for (const [name, url] of Object.entries({ plain, gateway })) {
    console.log(`\n${name}`);
    await suite("conformance-0.1", url, "--suite", "all");
    await suite("conformance-0.2", url, "--requirements", "2025-11-25");
    await suite("conformance-0.2", url, "--requirements", "2026-07-28");
  }
} finally {
  await Promise.all(children.map(stop));
  rmSync(work, { recursive: true, force: true });
}
if (failures.length > 0) {
  console.log(`\n${failures.length} failed`);
  process.exit(1);
}
