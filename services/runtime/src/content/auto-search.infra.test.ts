/** The search before the model, in whole runs: real script host, real MCP, a scripted model. */

import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";
import { afterAll, describe, expect, test } from "vitest";

import type { LocalService } from "../local-state.ts";
import type { OutputMessage } from "../message.ts";
import { type AppRun, assistant, TestApp } from "../testing/app-run.ts";

const open: TestApp[] = [];
const asked: JsonObject[] = [];

const found: LocalService = async (_scope, method, [request = {}]) => {
  asked.push({ method, request });
  if (method === "KB") return [{ title: "Doc", content: "from a document", score: 0.9 }];
  return [{ model: "pet", id: 1, title: "Row", content: "from data", score: 0.5 }];
};

function appOf(...parts: readonly Readonly<Record<string, string>>[]): TestApp {
  const made = new TestApp(Object.assign({}, ...parts) as Record<string, string>, { search: found });
  expect(made.problems.filter(({ severity }) => severity === "error")).toEqual([]);
  open.push(made);
  asked.length = 0;
  return made;
}

afterAll(async () => {
  for (const each of open) await each[Symbol.asyncDispose]();
});

const WEB = assistant("finder", {
  hooks: `function Create(ctx, messages) { ctx.memory.context.Set("q", messages[0].content); }
    function Next(ctx) {
      const { query, limit } = JSON.parse(ctx.memory.context.Get("q"));
      if (query === "fail") throw new Exception("out of order", 500);
      return { data: { items: [{ title: "Web", url: "https://e.org", content: "about " + query + " " + limit }] } };
    }`,
});
const ALL = {
  uses: { search: "finder" },
  kb: { collections: ["docs"] },
  db: { models: ["pet"] },
  search: { web: { max_results: 3 }, kb: { max_results: 2 } },
};

async function search(app: TestApp, options: JsonObject, text = "cats"): Promise<AppRun & { readonly prompt: string }> {
  const run = await app.run("a", text, { steps: [{ text: "ok" }], input: { options } });
  expect(run.error).toBeUndefined();
  return { ...run, prompt: run.provider.requests.at(-1)?.systemPrompt ?? "" };
}

/** Steps of the trace, each with how it ended. */
function steps(messages: readonly OutputMessage[]): readonly JsonObject[] {
  return messages.flatMap(({ type, props }) => {
    const { type: event, data } = props;
    return type === "trace" && typeof event === "string" && event.startsWith("node_") && isObject(data) ? [data] : [];
  });
}

function refs(prompt: string): readonly string[] {
  return [...prompt.matchAll(/<ref id="(\d+)" type="(\w+)"/g)].map(([, id, type]) => `${id} ${type}`);
}

describe("a call that asks for a search", () => {
  test("searches all that the assistant has, and tells the model before its user", async () => {
    const app = appOf(assistant("a", { prompt: "be kind", package: ALL }), WEB);
    const { prompt, provider, messages } = await search(app, { search: true });
    expect(prompt.startsWith("be kind\n\n")).toBe(true);
    expect(refs(prompt)).toEqual(["1 web", "2 kb", "3 db"]);
    expect(prompt).toContain("about cats 3");
    expect(prompt).toContain("from a document");
    expect(prompt).toContain("[1] for the reference");
    expect(provider.requests[0]?.messages).toHaveLength(1);
    expect(asked).toEqual([
      { method: "KB", request: { query: "cats", limit: 2, collections: ["docs"] } },
      { method: "DB", request: { query: "cats", limit: 10, models: ["pet"] } },
    ]);
    const [start, end] = steps(messages);
    expect(start).toMatchObject({ node: { label: "Search", input: { query: "cats", types: ["web", "kb", "db"] } } });
    expect(end).toMatchObject({ status: "success", output: { results: [{ total: 1, source: "auto" }, {}, {}] } });
    // The documents know no message for it.
    expect(messages.every(({ type }) => ["event", "trace", "text"].includes(type))).toBe(true);
  });

  test("takes numbers that no reference of a hook has", async () => {
    const app = appOf(
      assistant("a", {
        prompt: "x",
        package: ALL,
        hooks: `function Create(ctx) { ctx.metadata; const { items } = ctx.search.KB("mine"); return { metadata: { mine: items[0].citation_id }, search: { need_search: true, search_types: ["db", "kb"] } }; }
          function Next(ctx) { return { data: { mine: ctx.metadata.mine, later: ctx.search.DB("x").items[0].citation_id } }; }`,
      }),
    );
    const { prompt, outcome } = await search(app, {});
    expect(outcome?.next).toEqual({ mine: "1", later: "4" });
    expect(refs(prompt)).toEqual(["2 kb", "3 db"]);
  });

  test("looks for the keywords of the agent that uses.keyword names, the weightiest first", async () => {
    const keywords = (answer: string): TestApp =>
      appOf(
        assistant("a", {
          prompt: "x",
          package: { ...ALL, uses: { search: "finder", keyword: "words" }, search: { keyword: { max_keywords: 2 } } },
        }),
        assistant("words", { hooks: `function Next() { ${answer} }` }),
        WEB,
      );
    const lists = [
      `return { data: { keywords: [{ keyword: "low", weight: 0.1 }, { k: "high", w: 0.9 }, { keyword: "mid", weight: 0.5 }] } };`,
      `return { data: ["high", "mid", "low"] };`,
      `return { data: '["high", "mid"]' };`,
    ];
    for (const list of lists)
      expect((await search(keywords(list), { search: true })).prompt).toContain("about high mid 10");
    for (const useless of ["return null;", `return { data: [{}, 7, ""] };`, `throw new Error("no");`]) {
      expect((await search(keywords(useless), { search: true })).prompt).toContain("about cats");
    }
    const skipped = await search(keywords(lists[1] ?? ""), { search: true, skip: { keyword: true } });
    expect(skipped.prompt).toContain("about cats");
  });

  test("goes on when a search fails; its error is a part of the trace", async () => {
    const app = appOf(assistant("a", { prompt: "x", package: ALL }), WEB);
    const some = await search(app, { search: true }, "fail");
    expect(refs(some.prompt)).toEqual(["1 kb", "2 db"]);
    expect(JSON.stringify(steps(some.messages).at(-1))).toContain("out of order");
    const bare = appOf(assistant("a", { prompt: "x" }));
    const none = await search(bare, { search: true });
    expect(none.prompt).toBe("x");
    expect(steps(none.messages).at(-1)).toMatchObject({
      status: "failed",
      error: expect.stringContaining("no web search is set up") as string,
    });
  });
});

describe("no search runs", () => {
  interface Case {
    readonly where: string;
    readonly options?: JsonObject;
    readonly package?: JsonObject;
    /** What Create returns. */
    readonly create?: string;
  }
  const cases: readonly Case[] = [
    { where: "nobody asks", options: {} },
    { where: "the call says no", options: { search: false } },
    { where: "Create says no", create: "search: false" },
    { where: "Create needs none", create: "search: { need_search: false }" },
    { where: "the call skips it", options: { search: true, skip: { search: true } } },
    { where: "uses.search is disabled", package: { uses: { search: "disabled" } } },
    { where: "Create disables it", create: `uses: { search: "disabled" }` },
  ];
  test.each(cases)("where $where", async ({ options = { search: true }, package: more = {}, create }) => {
    const hooks = create === undefined ? {} : { hooks: `function Create() { return { ${create} }; }` };
    const app = appOf(assistant("a", { prompt: "x", package: { ...ALL, ...more }, ...hooks }), WEB);
    const { prompt, messages } = await search(app, options);
    expect(prompt).toBe("x");
    expect(steps(messages)).toEqual([]);
    expect(asked).toEqual([]);
  });

  test("for an assistant that asks no model", async () => {
    const app = appOf(assistant("a", { package: ALL, hooks: "function Next() { return { data: 1 }; }" }), WEB);
    await app.run("a", "cats", { input: { options: { search: true } } });
    expect(asked).toEqual([]);
  });
});

test("a tool of an MCP server searches the web, by the usual name or its own", async () => {
  const servers = {
    "mcps/my.web.mcp.yao": JSON.stringify({
      transport: "process",
      tools: { search: "scripts.web.Find", news: "scripts.web.News" },
    }),
    ...Object.fromEntries(
      ["search", "news"].map((tool) => [
        `mcps/mapping/my/web/schemes/${tool}.in.yao`,
        JSON.stringify({ type: "object", "x-process-args": [":arguments"] }),
      ]),
    ),
    "scripts/web.ts": `export function Find({ query }) { return [{ content: "found " + query }]; }
      export function News({ query, limit }) { return { results: Array.from({ length: 50 }, (_, n) => ({ content: n + " news of " + query })) }; }`,
  };
  const run = async (use: string): Promise<string> =>
    (
      await search(appOf(assistant("a", { prompt: "x", package: { uses: { search: use } } }), servers), {
        search: true,
      })
    ).prompt;
  expect(await run("mcp:my.web")).toContain("found cats");
  const news = await run("mcp:my.web.news");
  // A searcher that knows no limit is held to it.
  expect(refs(news)).toHaveLength(10);
  expect(news).toContain("9 news of cats");
});

test("a search that is under way ends with the run", async () => {
  const stop = new AbortController();
  const slow: LocalService = () => {
    stop.abort();
    return Promise.reject<Json>(new MeshError("unavailable", "gone"));
  };
  const app = new TestApp(assistant("a", { prompt: "x", package: { kb: { collections: ["d"] } } }), { search: slow });
  open.push(app);
  const { error, provider } = await app.run("a", "cats", { signal: stop.signal, input: { options: { search: true } } });
  expect(error).toMatchObject({ code: "cancelled" });
  expect(provider.requests).toEqual([]);
});

test("references outlive the wait for a person", async () => {
  const app = appOf(assistant("a", { prompt: "x", package: { ...ALL, options: { tools: ["ask_user"] } } }), WEB);
  const input = { options: { search: true } };
  const first = await app.run("a", "cats", {
    steps: [{ calls: [{ name: "ask_user", arguments: { question: "which?" } }] }],
    input,
  });
  const { state = "", pending = [] } = first.suspended ?? {};
  asked.length = 0;
  const answers = pending.map(({ id }) => ({ call_id: id, decision: "answer", text: "black ones" }));
  const second = await app.run("a", "cats", {
    steps: [{ text: "ok" }],
    input: { ...input, resume: { state, answers } },
  });
  expect(second.error).toBeUndefined();
  expect(refs(second.provider.requests[0]?.systemPrompt ?? "")).toEqual(["1 web", "2 kb", "3 db"]);
  expect(asked).toEqual([]);
});
