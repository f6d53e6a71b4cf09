import type { Json, JsonObject } from "@mesh/kernel";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type Caller, modelOf, ModelFixture, newScope } from "./testing/model-fixture.ts";

let fixture: ModelFixture;
let app: Caller;

const FILES = {
  "assistants/shop/models/customer.mod.yao": modelOf(
    [
      { name: "name", type: "string" },
      { name: "city_id", type: "integer", nullable: true },
      { name: "tags", type: "json", nullable: true },
    ],
    {
      relations: {
        orders: { type: "hasMany", model: "order", key: "customer_id", foreign: "id" },
        labels: { type: "hasMany", model: "label", key: "code", foreign: "tags" },
        products: {
          type: "hasManyThrough",
          links: [
            { type: "hasMany", model: "order", key: "customer_id", foreign: "id", query: { select: ["total"] } },
            { type: "hasMany", model: "item", key: "order_id", foreign: "order.id" },
            { type: "hasOne", model: "product", key: "sku", foreign: "item.sku" },
          ],
        },
        first_product: {
          type: "hasOneThrough",
          links: [
            { type: "hasMany", model: "order", key: "customer_id", foreign: "id" },
            { type: "hasMany", model: "item", key: "order_id", foreign: "id" },
            { type: "hasOne", model: "product", key: "sku", foreign: "sku" },
          ],
        },
        nobody: { type: "hasOne", model: "missing", key: "id", foreign: "id" },
      },
    },
  ),
  "assistants/shop/models/order.mod.yao": modelOf(
    [
      { name: "customer_id", type: "string", length: 255 },
      { name: "total", type: "integer" },
    ],
    {
      relations: {
        // The key is a number, the column here a text, as in the documented example.
        customer: { type: "hasOne", model: "customer", key: "id", foreign: "customer_id" },
        items: {
          type: "hasMany",
          model: "item",
          key: "order_id",
          foreign: "id",
          query: { select: ["sku", "count"], orders: [{ column: "count", option: "desc" }] },
        },
        big_items: {
          type: "hasMany",
          model: "item",
          key: "order_id",
          foreign: "id",
          query: { wheres: [{ column: "count", op: "ge", value: 5 }] },
        },
      },
      option: { soft_deletes: true },
    },
  ),
  "assistants/shop/models/item.mod.yao": modelOf(
    [
      { name: "order_id", type: "bigInteger" },
      { name: "sku", type: "string" },
      { name: "count", type: "integer" },
    ],
    { relations: { product: { type: "hasOne", model: "product", key: "sku", foreign: "sku" } } },
  ),
  "assistants/shop/models/product.mod.yao": modelOf([
    { name: "sku", type: "string", unique: true },
    { name: "title", type: "string" },
  ]),
  "assistants/shop/models/label.mod.yao": modelOf([{ name: "code", type: "string" }]),
};
const C = "agents.shop.customer";
const O = "agents.shop.order";

beforeAll(async () => {
  fixture = await ModelFixture.open();
  app = await fixture.app(FILES);
  await app.call(
    `${C}.Insert`,
    ["name", "tags"],
    [
      ["Ada", ["vip", "new"]],
      ["Bob", null],
      ["Cy", "vip"],
    ],
  );
  await app.call(
    `${O}.Insert`,
    ["customer_id", "total"],
    [
      ["1", 10],
      ["1", 20],
      ["2", 30],
      ["ghost", 40],
      ["1", 50],
    ],
  );
  await app.call(`${O}.Delete`, 5);
  const items = [
    [1, "p1", 1],
    [1, "p2", 7],
    [2, "p2", 5],
    [3, "p9", 2],
  ];
  await app.call("agents.shop.item.Insert", ["order_id", "sku", "count"], items);
  await app.call(
    "agents.shop.product.Insert",
    ["sku", "title"],
    [
      ["p1", "Pen"],
      ["p2", "Pot"],
      ["p3", "Pan"],
    ],
  );
  await app.call("agents.shop.label.Insert", ["code"], [["vip"], ["new"], ["old"]]);
});

afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
});

function get(model: string, query: JsonObject): Promise<Json> {
  return app.call<Json>(`${model}.Get`, query);
}

describe("withs", () => {
  test("hasOne brings a row or null, whatever the types of the two columns", async () => {
    expect(await get(O, { select: ["total"], withs: { customer: { query: { select: ["name"] } } } })).toEqual([
      { total: 10, customer: { name: "Ada" } },
      { total: 20, customer: { name: "Ada" } },
      { total: 30, customer: { name: "Bob" } },
      { total: 40, customer: null },
    ]);
  });

  test("hasMany brings a list, with the relation's own query, without deleted rows", async () => {
    expect(await get(C, { select: ["name"], withs: { orders: { query: { select: ["id"] } } } })).toEqual([
      { name: "Ada", orders: [{ id: 1 }, { id: 2 }] },
      { name: "Bob", orders: [{ id: 3 }] },
      { name: "Cy", orders: [] },
    ]);
    expect(await get(O, { select: ["id"], withs: { items: {} }, limit: 2 })).toEqual([
      {
        id: 1,
        items: [
          { sku: "p2", count: 7 },
          { sku: "p1", count: 1 },
        ],
      },
      { id: 2, items: [{ sku: "p2", count: 5 }] },
    ]);
  });

  test("the caller's query replaces the relation's, conditions of both hold", async () => {
    const withs = {
      big_items: {
        query: {
          select: ["sku"],
          wheres: [
            { column: "sku", value: "p1", method: "orwhere" },
            { column: "sku", value: "p2", method: "orwhere" },
          ],
        },
      },
      items: { query: { select: ["sku"], orders: [{ column: "sku" }], limit: 1 } },
    };
    expect(await get(O, { select: ["id"], withs, limit: 2 })).toEqual([
      { id: 1, big_items: [{ sku: "p2" }], items: [{ sku: "p1" }] },
      { id: 2, big_items: [{ sku: "p2" }], items: [{ sku: "p2" }] },
    ]);
  });

  test("withs nest", async () => {
    const withs = {
      orders: { query: { select: ["id"], withs: { items: { query: { select: ["count"], withs: { product: {} } } } } } },
    };
    expect(await get(C, { select: ["id"], wheres: [{ column: "id", value: 1 }], withs })).toEqual([
      {
        id: 1,
        orders: [
          {
            id: 1,
            items: [
              { count: 7, product: { id: 2, sku: "p2", title: "Pot" } },
              { count: 1, product: { id: 1, sku: "p1", title: "Pen" } },
            ],
          },
          { id: 2, items: [{ count: 5, product: { id: 2, sku: "p2", title: "Pot" } }] },
        ],
      },
    ]);
  });

  test("hasManyThrough brings the rows at the end, with what the links between select", async () => {
    expect(await get(C, { select: ["name"], withs: { products: { query: { select: ["title"] } } } })).toEqual([
      {
        name: "Ada",
        products: [
          { total: 10, title: "Pen" },
          { total: 10, title: "Pot" },
          { total: 20, title: "Pot" },
        ],
      },
      { name: "Bob", products: [] },
      { name: "Cy", products: [] },
    ]);
  });

  test("hasOneThrough brings the first row at the end, or null", async () => {
    expect(await get(C, { select: ["name"], withs: { first_product: { query: { select: ["title"] } } } })).toEqual([
      { name: "Ada", first_product: { title: "Pen" } },
      { name: "Bob", first_product: null },
      { name: "Cy", first_product: null },
    ]);
  });

  test("a json column may hold a list of keys", async () => {
    expect(await get(C, { select: ["id"], withs: { labels: { query: { select: ["code"] } } } })).toEqual([
      { id: 1, labels: [{ code: "vip" }, { code: "new" }] },
      { id: 2, labels: [] },
      { id: 3, labels: [{ code: "vip" }] },
    ]);
  });

  test("Find and Paginate bring them too; a row with them can be saved", async () => {
    const row = await app.call<JsonObject>(`${C}.Find`, 1, { withs: { orders: {} } });
    expect(row["orders"]).toHaveLength(2);
    expect(await app.call(`${C}.Save`, row)).toBe(1);
    expect(await app.call(`${C}.Paginate`, { withs: { orders: {} }, limit: 1 })).toMatchObject({
      total: 3,
      data: [{ name: "Ada", orders: [{ total: 10 }, { total: 20 }] }],
    });
  });

  test("a relation to a model that is not there, nesting without end and too many rows are refused", async () => {
    await expect(get(C, { withs: { nobody: {} } })).rejects.toMatchObject({
      code: "failed_precondition",
      message: expect.stringContaining('needs the model "missing"'),
    });
    let withs: JsonObject = {};
    for (let i = 0; i < 3; i += 1) withs = { orders: { query: { withs: { customer: { query: { withs } } } } } };
    await expect(get(C, { withs })).rejects.toThrow("withs are nested more than 4 levels deep");
    const small = await fixture.app(FILES, newScope(), { maxRows: 10 });
    await small.call(`${C}.Insert`, ["name"], [["a"], ["b"]]);
    await small.call(
      `${O}.Insert`,
      ["customer_id", "total"],
      Array.from({ length: 16 }, (_, i) => [String((i % 2) + 1), i]),
    );
    await expect(small.call(`${C}.Get`, { withs: { orders: {} } })).rejects.toMatchObject({
      code: "resource_exhausted",
    });
    const few = await small.call<JsonObject[]>(`${C}.Get`, { withs: { orders: { query: { limit: 3 } } } });
    expect(few.map((row) => (row["orders"] as Json[]).length)).toEqual([3, 3]);
  });
});

describe("rel", () => {
  test("rows can be found by columns of related rows", async () => {
    const found = async (model: string, ...wheres: JsonObject[]): Promise<Json> =>
      get(model, { select: ["id"], wheres });
    expect(await found(O, { rel: "customer", column: "name", value: "Ada" })).toEqual([{ id: 1 }, { id: 2 }]);
    expect(await found(C, { rel: "orders", column: "total", op: ">", value: 25 })).toEqual([{ id: 2 }]);
    expect(await found(C, { rel: "products", column: "title", value: "Pen" })).toEqual([{ id: 1 }]);
    expect(await found(C, { rel: "labels", column: "code", value: "vip" })).toEqual([{ id: 1 }, { id: 3 }]);
    expect(await found(O, { rel: "big_items", column: "sku", value: "p1" })).toEqual([]);
    await expect(found(O, { rel: "customer", column: "nam", value: 1 })).rejects.toThrow(
      'agents.shop.customer has no column "nam"',
    );
  });

  test("rows can be ordered by a column of a hasOne relation only", async () => {
    const orders = [{ rel: "customer", column: "name", option: "desc" }];
    expect(await get(O, { select: ["id"], orders })).toEqual([{ id: 3 }, { id: 2 }, { id: 1 }, { id: 4 }]);
    await expect(get(C, { orders: [{ rel: "orders", column: "total" }] })).rejects.toThrow("hasOne relation only");
  });
});
