import type { Json, JsonObject } from "@mesh/kernel";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type Caller, modelOf, ModelFixture, newScope } from "./testing/model-fixture.ts";

let fixture: ModelFixture;

const NOTE = modelOf(
  [
    { name: "text", type: "string", unique: true },
    { name: "parent", type: "bigInteger", nullable: true },
  ],
  {
    relations: { children: { type: "hasMany", model: "note", key: "parent", foreign: "id" } },
    option: { permission: true, timestamps: true, soft_deletes: true },
    values: [{ text: "welcome" }],
  },
);

beforeAll(async () => {
  fixture = await ModelFixture.open();
});

afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
});

async function texts(app: Caller, query: JsonObject = {}): Promise<Json[]> {
  const rows = await app.call<JsonObject[]>("note.Get", { select: ["text"], ...query });
  return rows.map((row) => row["text"] ?? null);
}

describe("two workspaces", () => {
  test("with the same models, users and ids see nothing of each other, method by method", async () => {
    const files = { note: modelOf([{ name: "text", type: "string", unique: true }]) };
    const [one, two] = [newScope(), newScope()];
    const a = await fixture.app(files, one);
    const b = await fixture.app(files, { ...two, userId: one.userId });
    await a.call("note.Insert", ["text"], [["secret"], ["second"]]);
    expect(await b.call("note.Create", { text: "secret" })).toBe(1);
    expect(await b.call("note.Get")).toEqual([{ id: 1, text: "secret" }]);
    await expect(b.call("note.Find", 2)).rejects.toMatchObject({ code: "not_found" });
    await expect(b.call("note.Update", 2, { text: "x" })).rejects.toMatchObject({ code: "not_found" });
    expect(await b.call("note.Paginate")).toMatchObject({ total: 1 });
    expect(await b.call("note.Count")).toBe(1);
    expect(await b.call("note.UpdateWhere", {}, { text: "mine" })).toBe(1);
    expect(await b.call("note.Save", { id: 2, text: "new" })).toBe(2);
    expect(await b.call("note.Upsert", { text: "second" }, "text")).toBeGreaterThan(2);
    expect(await b.call("note.EachSave", [{ id: 1, text: "again" }])).toEqual([1]);
    expect(await b.call("note.SelectOption", "second", "text")).toHaveLength(1);
    expect(await search(b, "secret")).toEqual([]);
    await b.call("note.Delete", 1);
    expect(await b.call("note.DestroyWhere", {})).toBe(2);
    expect(await a.call("note.Get")).toEqual([
      { id: 1, text: "secret" },
      { id: 2, text: "second" },
    ]);
  });

  test("a scope cannot name another schema", async () => {
    const app = await fixture.app({ note: modelOf([{ name: "text", type: "string" }]) });
    for (const workspaceId of [
      "public",
      "ws_",
      "",
      'ws_a"."note',
      "ws_a.b",
      "pg_catalog",
      "WS_A",
      `ws_${"a".repeat(61)}`,
    ]) {
      await expect(app.as({ workspaceId }).call("note.Get")).rejects.toMatchObject({ code: "invalid_argument" });
    }
    await expect(app.as({ userId: "" }).call("note.Get")).rejects.toMatchObject({ code: "invalid_argument" });
  });
});

describe("two users of a model with permission", () => {
  async function people(): Promise<{ ann: Caller; ben: Caller }> {
    const ann = await fixture.app({ note: NOTE });
    const ben = ann.as({ userId: newScope().userId });
    await ann.call("note.Create", { text: "ann 1" });
    await ann.call("note.Create", { text: "ann 2", parent: 2 });
    await ben.call("note.Create", { text: "ben 1", parent: 2 });
    return { ann, ben };
  }

  test("each sees their own rows and those the table started with; the owner is recorded and shown", async () => {
    const { ann, ben } = await people();
    expect(await texts(ann)).toEqual(["welcome", "ann 1", "ann 2"]);
    expect(await texts(ben)).toEqual(["welcome", "ben 1"]);
    expect(await ben.call("note.Find", 4)).toMatchObject({
      __yao_created_by: ben.scope.userId,
      __yao_updated_by: null,
      __yao_team_id: null,
    });
  });

  test("no method reads, changes or removes a row of the other", async () => {
    const { ann, ben } = await people();
    await expect(ben.call("note.Find", 2)).rejects.toMatchObject({ code: "not_found" });
    await expect(ben.call("note.Update", 2, { text: "x" })).rejects.toMatchObject({ code: "not_found" });
    await expect(ben.call("note.Save", { id: 2, text: "x" })).rejects.toMatchObject({ code: "already_exists" });
    await expect(ben.call("note.Upsert", { text: "ann 1" }, "text")).rejects.toMatchObject({ code: "already_exists" });
    await expect(ben.call("note.EachSave", [{ id: 2, text: "x" }])).rejects.toMatchObject({ code: "already_exists" });
    await ben.call("note.Delete", 2);
    await ben.call("note.Destroy", 2);
    await ben.call("note.EachSaveAfterDelete", [2, 3], []);
    expect(
      await ben.call("note.UpdateWhere", { wheres: [{ column: "id", op: "in", value: [2, 3] }] }, { parent: 9 }),
    ).toBe(0);
    expect(await ben.call("note.DeleteWhere", { wheres: [{ column: "id", value: 2 }] })).toBe(0);
    expect(await ben.call("note.DestroyWhere", { wheres: [{ column: "id", value: 2 }], withTrashed: true })).toBe(0);
    expect(await ben.call("note.Count")).toBe(2);
    expect(await ben.call("note.Paginate")).toMatchObject({ total: 2 });
    expect(await ben.call("note.SelectOption", "ann", "text")).toEqual([]);
    expect(await search(ben, "ann")).toEqual([]);
    expect(await texts(ann)).toEqual(["welcome", "ann 1", "ann 2"]);
  });

  test("an OR, a relation or an order of the caller reaches around nothing", async () => {
    const { ann, ben } = await people();
    const everything = [
      { column: "id", value: 1 },
      { column: "id", op: "gt", value: 0, method: "orwhere" },
    ];
    expect(await texts(ben, { wheres: everything })).toEqual(["welcome", "ben 1"]);
    expect(await ben.call("note.DeleteWhere", { wheres: everything })).toBe(1);
    const withs = { children: { query: { select: ["text"], withTrashed: true } } };
    expect(await ann.call("note.Find", 2, { select: ["text"], withs })).toEqual({
      text: "ann 1",
      children: [{ text: "ann 2" }],
    });
    expect(await texts(ann, { wheres: [{ rel: "children", column: "text", value: "ben 1" }] })).toEqual([]);
  });

  test("the owner cannot be given away or taken", async () => {
    const { ann, ben } = await people();
    const theirs = { __yao_created_by: ann.scope.userId, __yao_team_id: "team", __yao_updated_by: "x" };
    const id = await ben.call<number>("note.Create", { text: "mine", ...theirs });
    await ben.call("note.Update", id, { parent: 1, ...theirs });
    await ben.call("note.Save", { id, parent: 2, text: "mine", ...theirs });
    expect(await ben.call("note.Find", id)).toMatchObject({
      __yao_created_by: ben.scope.userId,
      __yao_updated_by: ben.scope.userId,
      __yao_team_id: null,
    });
    await expect(ben.call("note.UpdateWhere", {}, theirs)).rejects.toThrow("nothing to change");
    const [first, second] = [ann.as({ teamId: "t" }), ben.as({ teamId: "t" })];
    const shared = await first.call<number>("note.Create", { text: "ours", created_at: "2001-01-01 00:00:00" });
    const taken = { text: "ours", __yao_created_by: ben.scope.userId, created_at: "2002-01-01 00:00:00" };
    expect(await second.call("note.Upsert", { ...taken, id: 999 }, "text")).toBe(shared);
    expect(await second.call("note.Upsert", taken, "text", ["__yao_created_by", "created_at"])).toBe(shared);
    expect(await second.call("note.Save", { ...taken, id: shared })).toBe(shared);
    expect(await first.call("note.Find", shared)).toMatchObject({
      __yao_created_by: ann.scope.userId,
      __yao_updated_by: ben.scope.userId,
      created_at: "2001-01-01 00:00:00",
    });
  });

  test("rows the table started with are changed by nobody", async () => {
    const { ben } = await people();
    await expect(ben.call("note.Update", 1, { text: "x" })).rejects.toMatchObject({ code: "not_found" });
    await ben.call("note.Destroy", 1);
    expect(await ben.call("note.Find", 1, { select: ["text"] })).toEqual({ text: "welcome" });
  });

  test("a team shares its rows, and keeps them from those outside it", async () => {
    const { ann, ben } = await people();
    const [annInTeam, benInTeam] = [ann.as({ teamId: "t1" }), ben.as({ teamId: "t1" })];
    const id = await annInTeam.call<number>("note.Create", { text: "team" });
    expect(await texts(benInTeam)).toEqual(["welcome", "team"]);
    await benInTeam.call("note.Update", id, { parent: 5 });
    expect(await texts(ann)).toEqual(["welcome", "ann 1", "ann 2"]);
    expect(await texts(ben.as({ teamId: "t2" }))).toEqual(["welcome"]);
    await benInTeam.call("note.Delete", id);
    expect(await texts(annInTeam)).toEqual(["welcome"]);
  });
});

async function search(app: Caller, query: string): Promise<string[]> {
  const { scope, catalog } = app;
  const hits = await app.service.search({ scope, catalog, modelIds: ["note"], request: { query } });
  return hits.map((hit) => hit.title);
}
