// Runs the built client against the real program: WAYMARK is the path of the binary.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect, WaymarkError } from "./dist/index.js";

async function serve(t, ...args) {
  const dir = mkdtempSync(join(tmpdir(), "waymark-"));
  const child = spawn(process.env.WAYMARK, ["serve", "--json", "--data", dir, "--addr", "127.0.0.1:0", ...args]);
  t.after(async () => {
    child.kill("SIGTERM");
    await new Promise((resolve) => child.once("exit", resolve));
    rmSync(dir, { recursive: true, force: true });
  });
  let out = "";
  for await (const chunk of child.stdout) {
    out += chunk;
    try {
      return JSON.parse(out).api.replace(/\/v1$/, "");
    } catch {} // not whole yet
  }
  throw new Error("the server did not start");
}

test("from an empty store to a learned suggestion", async (t) => {
  const waymark = connect(await serve(t));
  const tools = ["desk:read", "desk:stamp", "desk:post"];
  const put = await waymark.PUT("/v1/tools", { body: tools.map((id) => ({ id, description: `The tool ${id}` })) });
  assert.equal(put.data.added, 3);
  const episodes = ["e1", "e2", "e3"].map((id) => ({ id, intent: "stamp and post a letter", steps: tools.map((tool) => ({ tool })) }));
  const recorded = await waymark.POST("/v1/episodes", { body: { episodes } });
  assert.equal(recorded.data.accepted, 3);
  const min_seq = recorded.data.seq;

  const next = await waymark.POST("/v1/next", { body: { context: ["desk:read"], min_seq } });
  assert.equal(next.data.suggestions[0].id, "desk:stamp");
  const found = await waymark.POST("/v1/search", { body: { query: "post" } });
  assert.equal(found.data.results[0].id, "desk:post");
  const plan = await waymark.POST("/v1/dag", { body: { intent: "stamp and post a letter" } });
  assert.ok(plan.data.dag.tasks.length > 0);
  const tool = await waymark.GET("/v1/tools/{id}", { params: { path: { id: "desk:read" } } });
  assert.equal(tool.data.description, "The tool desk:read");

  await assert.rejects(waymark.POST("/v1/next", { body: { limit: 5000 } }), (e) => e instanceof WaymarkError && e.status === 422 && /limit/.test(e.message));
  await assert.rejects(waymark.GET("/v1/tools/{id}", { params: { path: { id: "desk:raed" } } }), (e) => e.status === 404 && /desk:read/.test(e.message));
});

test("an overloaded server is asked again", async (t) => {
  let calls = 0;
  const server = createServer((request, response) => {
    calls++;
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      if (calls < 3) {
        response.writeHead(503, { "Retry-After": "0", "Content-Type": "application/problem+json" });
        response.end(JSON.stringify({ status: 503, detail: "busy" }));
        return;
      }
      response.writeHead(200, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ suggestions: [{ id: JSON.parse(body).context[0] }] }));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const base = `http://127.0.0.1:${server.address().port}`;
  const answer = await connect(base, "k").POST("/v1/next", { body: { context: ["a:b"] } });
  assert.equal(answer.data.suggestions[0].id, "a:b");
  assert.equal(calls, 3);
  calls = 0;
  await assert.rejects(connect(base).POST("/v1/feedback", { body: { used: true } }), (e) => e.status === 503 && e.message === "busy");
  assert.equal(calls, 1); // feedback counts each time
});
