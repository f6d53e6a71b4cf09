import type { JsonObject } from "@mesh/kernel";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type SearchHit, type SearchRequest, termsOf } from "./search-models.ts";
import { type Caller, modelOf, ModelFixture } from "./testing/model-fixture.ts";

let fixture: ModelFixture;
let app: Caller;

beforeAll(async () => {
  fixture = await ModelFixture.open();
  app = await fixture.app({
    "assistants/kb/models/article.mod.yao": modelOf(
      [
        { name: "title", type: "string", label: "Title" },
        { name: "body", type: "text", nullable: true, label: "Body" },
        { name: "status", type: "enum", option: ["active", "old"], default: "active" },
        { name: "meta", type: "json", nullable: true },
        { name: "secret", type: "string", nullable: true, crypt: "PASSWORD" },
        { name: "views", type: "integer", default: 0 },
      ],
      { option: { soft_deletes: true } },
    ),
    person: modelOf([{ name: "name", type: "string" }]),
    number: modelOf([{ name: "n", type: "integer" }]),
  });
  await app.call("agents.kb.article.Insert", [
    { title: "Solar panels", body: "How to mount solar panels on a roof. Solar, solar!", views: 5 },
    { title: "Roof repair", body: "Tiles and panels", views: 9 },
    { title: "太阳能电池板安装指南", body: "如何安装太阳能电池板", status: "old" },
    { title: "Deleted panels", body: "solar roof" },
    { title: "Untouched", meta: { tag: "roofing" } },
    { title: "100%_'quoted' \\ text:*|&!()", body: "operators" },
  ]);
  await app.call("agents.kb.article.Delete", 4);
  await app.call("person.Insert", [{ name: "Sol Roofer" }]);
});

afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
});

function search(request: SearchRequest, modelIds: string[] = ["article"]): Promise<readonly SearchHit[]> {
  return app.service.search({ scope: app.scope, catalog: app.catalog, modelIds, assistantId: "kb", request });
}

function ids(hits: readonly SearchHit[]): unknown[] {
  return hits.map((hit) => hit.id);
}

test("S1: rows with more of the words come first, those with none not at all", async () => {
  const hits = await search({ query: "solar panels roof" });
  expect(ids(hits)).toEqual([1, 2, 5]);
  const scores = hits.map((hit) => hit.score);
  expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  expect(scores[0]).toBeGreaterThan(0.9);
  expect(Math.max(...scores)).toBeLessThanOrEqual(1);
  expect(hits[0]).toMatchObject({
    model: "agents.kb.article",
    title: "Solar panels",
    content: "Title: Solar panels\nBody: How to mount solar panels on a roof. Solar, solar!\nstatus: active",
    row: { id: 1, views: 5, meta: null },
  });
});

test("S2: beginnings of words, whole short words and pairs of letters match, without regard to case", async () => {
  expect(ids(await search({ query: "a to" }))).toEqual([1]);
  expect(ids(await search({ query: "so" }))).toEqual([]);
  expect(ids(await search({ query: "SOL" }))).toEqual([1]);
  expect(ids(await search({ query: "lar" }))).toEqual([]);
  expect(ids(await search({ query: "怎么安装电池板" }))).toEqual([3]);
  expect(ids(await search({ query: "roofing" }))).toEqual([5]);
});

test("conditions, orders, columns and the limit are those of the request", async () => {
  const wheres = [{ column: "views", op: "gt", value: 6 }];
  expect(ids(await search({ query: "panels", wheres }))).toEqual([2]);
  expect(ids(await search({ query: "panels", orders: [{ column: "views", option: "desc" }] }))).toEqual([2, 1]);
  expect(await search({ query: "solar", select: ["views"] })).toMatchObject([{ id: 1, row: { views: 5 } }]);
  expect((await search({ query: "solar", select: ["views"] }))[0]?.row).toEqual({ views: 5 });
  expect(await search({ query: "panels roof", limit: 1 })).toHaveLength(1);
  expect(
    ids(
      await search({
        query: "solar",
        wheres: [
          { column: "id", op: "gt", value: 0 },
          { column: "id", value: 4, method: "orwhere" },
        ],
      }),
    ),
  ).toEqual([1]);
});

test("several models are searched together, those without text find nothing", async () => {
  const hits = await search({ query: "sol roof" }, ["article", "person", "number", "article"]);
  expect(hits.map((hit) => hit.model)).toEqual(expect.arrayContaining(["agents.kb.article", "person"]));
  expect(hits.filter((hit) => hit.model === "person")).toMatchObject([
    { id: 1, title: "Sol Roofer", score: expect.closeTo(0.95, 1) },
  ]);
});

test("words of no language, operators and emptiness are harmless", async () => {
  for (const query of ["", "   ", "!!! & | ()", "':*", "';", "\\"]) expect(await search({ query })).toEqual([]);
  expect(ids(await search({ query: "'quoted' & text:*|!(" }))).toEqual([6]);
  expect(await search({ query: "x".repeat(20_000) })).toEqual([]);
  expect(termsOf("word ".repeat(10) + Array.from({ length: 100 }, (_, i) => `w${i}`).join(" "))).toHaveLength(24);
});

test("protected columns are neither searched nor shown in the content", async () => {
  const id = await app.call<number>("agents.kb.article.Create", { title: "T", secret: "hunter2" });
  expect(await search({ query: "hunter2 scrypt" })).toEqual([]);
  const [hit] = await search({ query: "T" });
  expect(hit).toMatchObject({ id, content: "Title: T\nstatus: active" });
});

test.each<[string, JsonObject, string[], string]>([
  ["an unknown model", { query: "x" }, ["nope"], 'there is no model "nope"'],
  ["an unknown column", { query: "x", wheres: [{ column: "nope" }] }, ["article"], 'no column "nope"'],
  ["no text", {}, ["article"], "the text to search for must be given"],
  ["a limit that is none", { query: "x", limit: 0 }, ["article"], "limit must be a number"],
  ["too many models", { query: "x" }, Array.from({ length: 21 }, () => "article"), "at most 20 models"],
])("%s is refused", async (_title, request, models, message) => {
  await expect(search(request as unknown as SearchRequest, models)).rejects.toThrow(message);
});
