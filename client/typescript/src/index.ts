/**
 * Typed client of the HTTP API of Waymark. Paths, requests and answers are those of the server's OpenAPI description.
 *
 *     const waymark = connect("http://127.0.0.1:7070", process.env.WAYMARK_KEY);
 *     const { data } = await waymark.POST("/v1/next", { body: { context: ["github:list_issues"] } });
 *
 * A refusal throws a WaymarkError. A GET and a question are repeated after 429 and 503, at most three times and after
 * the time that the server names; so is the recording of episodes and tools, which are stored once under their ids.
 */
import createClient, { type Client, type Middleware } from "openapi-fetch";
import type { components, paths } from "./schema.js";

export type { components, paths } from "./schema.js";

type Schemas = components["schemas"];
export type NextRequest = Schemas["NextBody"];
export type NextAnswer = Schemas["NextAnswer"];
export type SearchAnswer = Schemas["SearchAnswer"];
export type DAGAnswer = Schemas["DAGAnswer"];
export type Episode = Schemas["Episode"];
export type Tool = Schemas["Tool"];
export type Problem = Schemas["ErrorModel"];

/** What the server refused, and why. */
export class WaymarkError extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    const parts = (problem.errors ?? []).map((e) => (e.location ? `${e.location}: ${e.message}` : e.message));
    super([problem.detail ?? problem.title ?? `status ${status}`, ...parts].join("; "));
    this.name = "WaymarkError";
  }
}

export interface Options {
  /** How often a question is repeated after 429 or 503; 3 if absent. */
  retries?: number;
  fetch?: (request: Request) => Promise<Response>;
}

// Requests that change nothing, or that store the same thing once however often they come.
const repeatable = /^(GET .*|POST \/v1\/(next|search|dag|explain|episodes)|PUT \/v1\/tools)$/;

/** Returns a client of the server at base, with an API key where the server asks for one. */
export function connect(base: string, key?: string, options: Options = {}): Client<paths> {
  const send = options.fetch ?? ((request: Request) => fetch(request));
  const retries = options.retries ?? 3;
  const client = createClient<paths>({
    baseUrl: base.replace(/\/$/, ""),
    headers: key ? { Authorization: `Bearer ${key}` } : {},
    fetch: async (request) => {
      const again = repeatable.test(`${request.method} ${new URL(request.url).pathname}`);
      for (let attempt = 0; ; attempt++) {
        const response = await send(again && attempt < retries ? request.clone() : request);
        if (!again || attempt >= retries || (response.status !== 429 && response.status !== 503)) return response;
        await response.body?.cancel();
        const seconds = Number(response.headers.get("Retry-After")) || 0;
        await new Promise((resolve) => setTimeout(resolve, Math.max(seconds * 1000, 100 * 2 ** attempt)));
      }
    },
  });
  const refuse: Middleware = {
    async onResponse({ response }) {
      if (response.ok) return undefined;
      const text = await response.text();
      let problem: Problem;
      try {
        problem = JSON.parse(text) as Problem;
      } catch {
        problem = { type: "about:blank", detail: text };
      }
      throw new WaymarkError(response.status, problem);
    },
  };
  client.use(refuse);
  return client;
}
