import type { JsonObject } from "@mesh/kernel";
import { openStore } from "@mesh/store";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { modelDb } from "./model-db.ts";
import { ModelService } from "./model-service.ts";
import { Caller, modelOf, ModelFixture, newScope } from "./testing/model-fixture.ts";

interface Keyed {
  readonly id: number;
}

interface Page {
  readonly data: readonly Keyed[];
}

let fixture: ModelFixture;

beforeAll(async () => {
  fixture = await ModelFixture.open();
});

afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
});

const ORDER = {
  name: "Order",
  table: { name: "order", comment: "Order records" },
  columns: [
    { name: "id", type: "ID", primary: true },
    { name: "order_no", type: "string", length: 100, nullable: false, unique: true, index: true },
    { name: "customer", type: "string", length: 255, nullable: true, index: true },
    { name: "total", type: "decimal", precision: 15, scale: 2, nullable: false, default: 0 },
    { name: "status", type: "enum", option: ["pending", "shipped", "cancelled"], default: "pending", nullable: false },
    { name: "metadata", type: "json", nullable: true },
  ],
  relations: {},
  indexes: [{ name: "idx_customer_status", columns: ["customer", "status"], type: "index" }],
  option: { timestamps: true, soft_deletes: true },
};
const FILES = { "assistants/shop/models/order.mod.yao": ORDER };
const ID = "agents.shop.order";

async function shop(count = 0): Promise<Caller> {
  const app = await fixture.app(FILES);
  const rows = Array.from({ length: count }, (_, i) => [`no-${i + 1}`, i, i % 2 === 0 ? "pending" : "shipped"]);
  if (count > 0) await app.call(`${ID}.Insert`, ["order_no", "total", "status"], rows);
  return app;
}

describe("Create and Find", () => {
  test("a row gets an id, defaults and its creation time, and is found with the documented types", async () => {
    const app = await shop();
    const id = await app.call<number>(`${ID}.Create`, {
      order_no: "A1",
      total: "12.50",
      metadata: { tags: ["x"], deep: null },
    });
    expect(id).toBe(1);
    const row = await app.call(`${ID}.Find`, id);
    expect(row).toEqual({
      id: 1,
      order_no: "A1",
      customer: null,
      total: 12.5,
      status: "pending",
      metadata: { tags: ["x"], deep: null },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      updated_at: null,
      deleted_at: null,
    });
  });

  test("method names ignore case, an id may be text or in an object, and Find takes a query", async () => {
    const app = await shop(2);
    expect(await app.call(`${ID}.find`, "2", { select: ["order_no"] })).toEqual({ order_no: "no-2" });
    expect(await app.call(`${ID}.FIND`, { id: 1 }, { select: ["order_no"] })).toEqual({ order_no: "no-1" });
  });

  test("a row that is not there is not_found; a key of the wrong kind is refused", async () => {
    const app = await shop();
    await expect(app.call(`${ID}.Find`, 99)).rejects.toMatchObject({
      code: "not_found",
      message: "agents.shop.order has no row with id = 99",
    });
    await expect(app.call(`${ID}.Find`, "1 OR 1=1")).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(app.call(`${ID}.Find`)).rejects.toThrow("id must be given");
  });

  test("everything that is missing is named at once", async () => {
    const app = await fixture.app({
      thing: modelOf([
        { name: "a", type: "string" },
        { name: "b", type: "integer" },
        { name: "c", type: "integer", nullable: true },
      ]),
    });
    await expect(app.call("thing.Create", {})).rejects.toMatchObject({
      code: "invalid_argument",
      message: "thing: a, b must be given",
    });
    await expect(app.call("thing.Create", { a: null, b: 1 })).rejects.toThrow("a must not be empty");
  });

  test("an unknown column is refused with the columns there are", async () => {
    const app = await shop();
    await expect(app.call(`${ID}.Create`, { order_no: "x", stauts: "pending" })).rejects.toThrow(
      'agents.shop.order has no column "stauts"; did you mean "status"? The columns are id, order_no,',
    );
  });

  test("a taken unique value is a conflict that names the column", async () => {
    const app = await shop(1);
    await expect(app.call(`${ID}.Create`, { order_no: "no-1" })).rejects.toMatchObject({
      code: "already_exists",
      message: "agents.shop.order: a row with the same order_no exists already",
      details: { columns: ["order_no"] },
    });
  });

  test("after a row was written with an id of its own, generated ids go on behind it", async () => {
    const app = await shop();
    expect(await app.call(`${ID}.Create`, { id: 2, order_no: "a" })).toBe(2);
    expect(await app.call(`${ID}.Create`, { order_no: "b" })).toBe(1);
    expect(await app.call(`${ID}.Create`, { order_no: "c" })).toBe(3);
    expect(await app.call(`${ID}.Create`, { id: 7, order_no: "d" })).toBe(7);
    await app.call(
      `${ID}.Insert`,
      ["id", "order_no"],
      Array.from({ length: 20 }, (_, i) => [i + 10, `i${i}`]),
    );
    await app.call(`${ID}.Create`, { id: 4, order_no: "f" });
    await app.call(`${ID}.Create`, { id: 5, order_no: "g" });
    await app.call(`${ID}.Create`, { id: 6, order_no: "h" });
    expect(await app.call(`${ID}.Create`, { order_no: "i" })).toBe(30);
    const created = await Promise.all(
      Array.from({ length: 8 }, (_, i) => app.call<number>(`${ID}.Create`, { order_no: `e${i}` })),
    );
    expect(new Set([...created, 1, 2, 3, 7, 30]).size).toBe(13);
  });
});

describe("Get, Paginate and Count", () => {
  test("Get gives 100 rows by default, in order of their keys, and as many as the limit says", async () => {
    const app = await shop(130);
    const rows = await app.call<Keyed[]>(`${ID}.Get`);
    expect(rows).toHaveLength(100);
    expect(rows.slice(0, 3).map((row) => row.id)).toEqual([1, 2, 3]);
    expect(await app.call(`${ID}.Get`, { limit: 3, page: 2, select: ["id"] })).toEqual([
      { id: 4 },
      { id: 5 },
      { id: 6 },
    ]);
    expect(await app.call(`${ID}.Get`, { limit: 130 })).toHaveLength(130);
    expect(await app.call(`${ID}.Get`, { limit: 0 })).toEqual([]);
    await expect(app.call(`${ID}.Get`, { limit: 5001 })).rejects.toThrow("limit must be at most 5000");
  });

  test("Paginate says where a page is; the page and its size may be in the query or left out", async () => {
    const app = await shop(45);
    const first = await app.call<Page>(`${ID}.Paginate`);
    expect(first).toMatchObject({ total: 45, page: 1, pagesize: 20, pagecnt: 3, next: 2, prev: -1 });
    expect(first.data).toHaveLength(20);
    const last = await app.call<Page>(`${ID}.Paginate`, { select: ["id"] }, 3, 20);
    expect(last).toMatchObject({ page: 3, next: -1, prev: 2 });
    expect(last.data).toHaveLength(5);
    const byQuery = await app.call(`${ID}.Paginate`, {
      wheres: [{ column: "status", value: "pending" }],
      orders: [{ column: "created_at", option: "desc" }],
      limit: 10,
      page: 2,
    });
    expect(byQuery).toMatchObject({ total: 23, page: 2, pagesize: 10, pagecnt: 3 });
    expect(await app.call(`${ID}.Paginate`, {}, 99, 20)).toMatchObject({ data: [], page: 99, next: -1 });
    await expect(app.call(`${ID}.Paginate`, {}, 0)).rejects.toThrow("page must be a whole number");
  });

  test("pages of rows that are equal in the order asked for never overlap", async () => {
    const app = await shop(40);
    const query = { orders: [{ column: "status", option: "desc" }], select: ["id"] };
    const pages = await Promise.all([1, 2, 3, 4].map((page) => app.call<Page>(`${ID}.Paginate`, query, page, 10)));
    const seen = pages.flatMap((page) => page.data.map((row) => row.id));
    expect(new Set(seen).size).toBe(40);
  });

  test("Count counts what fits", async () => {
    const app = await shop(5);
    expect(await app.call(`${ID}.Count`)).toBe(5);
    expect(await app.call(`${ID}.Count`, { wheres: [{ column: "total", op: "ge", value: 3 }] })).toBe(2);
  });

  test("SelectOption gives names and values", async () => {
    const app = await shop(3);
    expect(await app.call(`${ID}.SelectOption`, "no-2", "order_no")).toEqual([{ name: "no-2", value: 2 }]);
    expect(await app.call(`${ID}.SelectOption`, "%", "order_no")).toEqual([]);
    expect(await app.call(`${ID}.SelectOption`, null, "order_no", "status", 1)).toEqual([
      { name: "no-1", value: "pending" },
    ]);
  });

  test("Metadata gives the model as written", async () => {
    const app = await shop();
    expect(await app.call(`${ID}.Metadata`)).toEqual({ ...ORDER, id: ID });
    expect(await app.call(`${ID}.Exists`)).toBe(true);
  });
});

describe("Update, Save and Upsert", () => {
  test("Update changes one row, sets its time and gives null; tools may put the key into the row", async () => {
    const app = await shop(2);
    expect(await app.call(`${ID}.Update`, 1, { status: "shipped", total: 9.99 })).toBeNull();
    expect(await app.call(`${ID}.Update`, { id: 2, customer: "Zoë" })).toBeNull();
    expect(await app.call(`${ID}.Find`, 1)).toMatchObject({
      status: "shipped",
      total: 9.99,
      updated_at: expect.any(String),
    });
    expect(await app.call(`${ID}.Find`, 2)).toMatchObject({ customer: "Zoë" });
  });

  test("Update of a row that is not there, of nothing, or of the key is refused", async () => {
    const app = await shop(1);
    await expect(app.call(`${ID}.Update`, 5, { total: 1 })).rejects.toMatchObject({ code: "not_found" });
    await expect(app.call(`${ID}.Update`, 1, {})).rejects.toThrow("there is nothing to change");
    await expect(app.call(`${ID}.Update`, 1, { id: 2, total: 1 })).rejects.toThrow("id cannot be changed");
    await expect(app.call(`${ID}.Update`, 1, { status: null })).rejects.toThrow("status must not be empty");
  });

  test("a row that was read can be saved as it is, and times stay ours", async () => {
    const app = await shop(1);
    const row = await app.call<JsonObject>(`${ID}.Find`, 1);
    const id = await app.call(`${ID}.Save`, { ...row, customer: "B", updated_at: "2001-01-01 00:00:00" });
    expect(id).toBe(1);
    const saved = await app.call<JsonObject>(`${ID}.Find`, 1);
    expect(saved).toMatchObject({ customer: "B", created_at: row["created_at"], deleted_at: null });
    expect(saved["updated_at"]).not.toBe("2001-01-01 00:00:00");
  });

  test("Save adds a row without a key, and one whose key is not there", async () => {
    const app = await shop();
    expect(await app.call(`${ID}.Save`, { order_no: "a" })).toBe(1);
    expect(await app.call(`${ID}.Save`, { id: 9, order_no: "b" })).toBe(9);
    expect(await app.call(`${ID}.Save`, { id: "9", total: 3 })).toBe(9);
    expect(await app.call(`${ID}.Count`)).toBe(2);
  });

  test("many Saves of one new key at the same time leave one row and no error", async () => {
    const app = await shop();
    const saved = await Promise.all(
      Array.from({ length: 12 }, (_, i) => app.call(`${ID}.Save`, { id: 5, order_no: "same", total: i })),
    );
    expect(new Set(saved)).toEqual(new Set([5]));
    expect(await app.call(`${ID}.Count`)).toBe(1);
  });

  test("many Creates of one unique value at the same time make one row; the others are conflicts", async () => {
    const app = await shop();
    const results = await Promise.allSettled(
      Array.from({ length: 12 }, () => app.call(`${ID}.Create`, { order_no: "same" })),
    );
    const failed = results.filter((result) => result.status === "rejected");
    expect(failed).toHaveLength(11);
    expect(new Set(failed.map(({ reason }) => reason.code))).toEqual(new Set(["already_exists"]));
  });

  test("Upsert goes by a unique column, and changes only what it is told to", async () => {
    const app = await shop();
    const id = await app.call<number>(`${ID}.Upsert`, { order_no: "a", total: 1, customer: "x" }, "order_no");
    expect(await app.call(`${ID}.Upsert`, { order_no: "a", total: 2, customer: "y" }, ["order_no"], ["total"])).toBe(
      id,
    );
    expect(await app.call(`${ID}.Find`, id)).toMatchObject({ total: 2, customer: "x", status: "pending" });
    await expect(app.call(`${ID}.Upsert`, { order_no: "a" }, "customer")).rejects.toThrow("no unique index");
  });
});

describe("Delete and Destroy", () => {
  test("a softly deleted row is hidden from every method, can be asked for, and gives its unique value free", async () => {
    const app = await shop(2);
    expect(await app.call(`${ID}.Delete`, 1)).toBeNull();
    await expect(app.call(`${ID}.Find`, 1)).rejects.toMatchObject({ code: "not_found" });
    await expect(app.call(`${ID}.Update`, 1, { total: 5 })).rejects.toMatchObject({ code: "not_found" });
    expect(await app.call(`${ID}.Count`)).toBe(1);
    expect(await app.call(`${ID}.Get`, { onlyTrashed: true, select: ["id"] })).toEqual([{ id: 1 }]);
    expect(await app.call(`${ID}.Get`, { withTrashed: true })).toHaveLength(2);
    expect(await app.call(`${ID}.UpdateWhere`, {}, { total: 7 })).toBe(1);
    expect(await app.call(`${ID}.Create`, { order_no: "no-1" })).toBe(3);
    await expect(app.call(`${ID}.Save`, { id: 1, order_no: "other" })).rejects.toMatchObject({
      code: "already_exists",
    });
  });

  test("Delete of what is not there does nothing; Destroy removes a deleted row too", async () => {
    const app = await shop(1);
    expect(await app.call(`${ID}.Delete`, 99)).toBeNull();
    await app.call(`${ID}.Delete`, 1);
    await app.call(`${ID}.Destroy`, 1);
    expect(await app.call(`${ID}.Get`, { withTrashed: true })).toEqual([]);
  });

  test("the Where methods change, delete and remove what fits, with a limit if one is given, and count it", async () => {
    const app = await shop(10);
    const pending = { wheres: [{ column: "status", value: "pending" }] };
    expect(await app.call(`${ID}.UpdateWhere`, pending, { customer: "P" })).toBe(5);
    const twoHighest = { ...pending, orders: [{ column: "total", option: "desc" }], limit: 2 };
    expect(await app.call(`${ID}.DeleteWhere`, twoHighest)).toBe(2);
    expect(await app.call(`${ID}.Get`, { ...pending, select: ["id"] })).toEqual([{ id: 1 }, { id: 3 }, { id: 5 }]);
    expect(await app.call(`${ID}.DestroyWhere`, pending)).toBe(5);
    expect(await app.call(`${ID}.Count`, { withTrashed: true })).toBe(5);
    expect(await app.call(`${ID}.DeleteAll`)).toBe(5);
  });
});

describe("Insert and EachSave", () => {
  test("Insert takes columns with rows of values, or rows alone, all or none", async () => {
    const app = await shop();
    expect(
      await app.call(
        `${ID}.Insert`,
        ["order_no", "total"],
        [
          ["a", 1],
          ["b", "2.5"],
        ],
      ),
    ).toBe(2);
    expect(await app.call(`${ID}.Insert`, [{ order_no: "c" }, { order_no: "d", customer: "x" }])).toBe(2);
    expect(await app.call(`${ID}.Insert`, ["order_no"], [])).toBe(0);
    await expect(app.call(`${ID}.Insert`, ["order_no"], [["e"], ["a"]])).rejects.toMatchObject({
      code: "already_exists",
    });
    await expect(app.call(`${ID}.Insert`, ["order_no", "total"], [["e"]])).rejects.toThrow("row 1 must have 2 values");
    expect(await app.call(`${ID}.Count`)).toBe(4);
  });

  test("a large Insert is one call; too large a one is refused", async () => {
    const app = await shop();
    const rows = Array.from({ length: 5000 }, (_, i) => [`n${i}`, i, "pending", `c${i}`, null]);
    expect(await app.call(`${ID}.Insert`, ["order_no", "total", "status", "customer", "metadata"], rows)).toBe(5000);
    await expect(app.call(`${ID}.Insert`, ["order_no"], [...rows, rows[0]!])).rejects.toThrow("at most 5000 rows");
  });

  test("EachSave saves with added values, EachSaveAfterDelete deletes first; both as a whole", async () => {
    const app = await shop(2);
    expect(await app.call(`${ID}.EachSave`, [{ id: 1, total: 5 }, { order_no: "x" }], { customer: "C" })).toEqual([
      1, 3,
    ]);
    expect(await app.call(`${ID}.Find`, 3)).toMatchObject({ customer: "C" });
    expect(await app.call(`${ID}.EachSaveAfterDelete`, [1, 2], [{ order_no: "y" }])).toEqual([4]);
    const failing = app.call(`${ID}.EachSaveAfterDelete`, [3, 4], [{ order_no: "z" }, { order_no: "z" }]);
    await expect(failing).rejects.toMatchObject({ code: "already_exists" });
    expect(await app.call(`${ID}.Count`)).toBe(2);
  });
});

describe("what cannot be done", () => {
  test("an unknown method and an unknown model say what there is", async () => {
    const app = await shop();
    await expect(app.call(`${ID}.Fnid`, 1)).rejects.toMatchObject({
      code: "unimplemented",
      message: 'models have no method "Fnid"; did you mean "Find"?',
    });
    await expect(app.call("agents.shop.oder.Get")).rejects.toMatchObject({
      code: "not_found",
      message: 'there is no model "agents.shop.oder"; did you mean "agents.shop.order"?',
    });
    await expect(app.call("toString.Get")).rejects.toMatchObject({ code: "not_found" });
    await expect(app.call(`${ID}.constructor`)).rejects.toMatchObject({ code: "unimplemented" });
  });

  test("a read-only model is only read", async () => {
    const app = await fixture.app({
      thing: modelOf([{ name: "a", type: "string" }], { option: { readonly: true }, values: [{ a: "x" }] }),
    });
    expect(await app.call("thing.Get")).toEqual([{ id: 1, a: "x" }]);
    await expect(app.call("thing.Create", { a: "y" })).rejects.toMatchObject({ code: "permission_denied" });
  });

  test("a table that was never migrated says what to do", async () => {
    const app = await shop();
    await expect(app.as(newScope()).call(`${ID}.Get`)).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining("push the app"),
    });
  });

  test("a query that takes too long is ended and named so", async () => {
    const app = await fixture.app({ thing: modelOf([{ name: "a", type: "text" }]) });
    const hasty = openStore({ url: fixture.store.url, maxConnections: 1, statementTimeoutMs: 50 });
    try {
      const { catalog, scope } = app;
      const slow = new Caller(new ModelService({ db: modelDb(hasty) }), catalog, scope);
      await fixture.store.sql.begin(async (tx) => {
        await tx`LOCK TABLE ${tx(scope.workspaceId)}.thing`;
        await expect(slow.call("thing.Get")).rejects.toMatchObject({
          code: "deadline_exceeded",
          message: "thing: the query took too long; narrow it or add an index",
        });
      });
    } finally {
      await hasty.close();
    }
  });

  test("a result that is too large is refused before it is sent", async () => {
    const app = await fixture.app(
      {
        thing: modelOf([
          { name: "a", type: "json" },
          { name: "b", type: "string" },
        ]),
      },
      newScope(),
      {
        maxResultBytes: 100_000,
      },
    );
    const rows = Array.from({ length: 40 }, (_, i) => ({ a: { text: "x".repeat(5000) }, b: `b${i}` }));
    await app.call("thing.Insert", rows);
    await expect(app.call("thing.Get")).rejects.toMatchObject({
      code: "resource_exhausted",
      message: "the result is larger than 97 KB; select fewer columns or set a smaller limit",
    });
    expect(await app.call("thing.Get", { limit: 10 })).toHaveLength(10);
    const names = await app.call<{ b: string }[]>("thing.Get", { select: ["b"] });
    expect(names.map((row) => row.b)).toEqual(rows.map((row) => row.b));
  });
});
