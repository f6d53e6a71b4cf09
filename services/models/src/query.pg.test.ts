import type { Json, JsonObject } from "@mesh/kernel";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type Caller, modelOf, ModelFixture } from "./testing/model-fixture.ts";

let fixture: ModelFixture;
let app: Caller;

const THING = modelOf([
  { name: "name", type: "string", nullable: true },
  { name: "size", type: "integer", nullable: true },
  { name: "price", type: "decimal", precision: 12, scale: 2, nullable: true },
  { name: "ratio", type: "float", nullable: true },
  { name: "isNew", type: "boolean", nullable: true },
  { name: "kind", type: "enum", option: ["a", "b", "c"], nullable: true },
  { name: "day", type: "date", nullable: true },
  { name: "at", type: "datetime", nullable: true },
  { name: "big", type: "bigInteger", nullable: true },
  { name: "data", type: "json", nullable: true },
]);

const ROWS: readonly JsonObject[] = [
  {
    name: "Apple",
    size: 1,
    price: 1.5,
    ratio: 0.5,
    isNew: true,
    kind: "a",
    day: "2024-01-01",
    at: "2024-01-01 10:00:00",
    big: 1,
    data: { x: 1 },
  },
  {
    name: "banana",
    size: 2,
    price: 2.25,
    ratio: 99.16,
    isNew: false,
    kind: "b",
    day: "2024-02-01",
    at: "2024-02-01 00:00:00",
    big: "9007199254740993",
    data: [1, 2],
  },
  {
    name: "100%_sure",
    size: 3,
    price: 10,
    ratio: -1,
    isNew: true,
    kind: "c",
    day: "2023-12-31",
    at: "2023-12-31 23:59:59",
    big: -5,
    data: "text",
  },
  {
    name: "Ananas",
    size: null,
    price: null,
    ratio: null,
    isNew: null,
    kind: null,
    day: null,
    at: null,
    big: null,
    data: null,
  },
];

beforeAll(async () => {
  fixture = await ModelFixture.open();
  app = await fixture.app({ thing: THING });
  await app.call("thing.Insert", ROWS);
});

afterAll(async () => {
  await fixture[Symbol.asyncDispose]();
});

async function ids(query: JsonObject, of: Caller = app): Promise<number[]> {
  const rows = await of.call<{ id: number }[]>("thing.Get", { select: ["id"], limit: 1000, ...query });
  return rows.map((row) => row.id);
}

describe("conditions", () => {
  test.each<[string, JsonObject, number[]]>([
    ["no op is =", { column: "name", value: "Apple" }, [1]],
    ["= keeps case", { column: "name", value: "apple" }, []],
    ["eq", { column: "size", op: "eq", value: 2 }, [2]],
    ["= takes text for a number", { column: "size", op: "=", value: "2" }, [2]],
    ["ne leaves empty ones out, as SQL does", { column: "size", op: "ne", value: 2 }, [1, 3]],
    ["<>", { column: "kind", op: "<>", value: "a" }, [2, 3]],
    ["!=", { column: "isNew", op: "!=", value: true }, [2]],
    ["gt", { column: "price", op: "gt", value: "2.25" }, [3]],
    [">", { column: "day", op: ">", value: "2024-01-01" }, [2]],
    ["ge", { column: "at", op: "ge", value: "2024-01-01T12:00:00+02:00" }, [1, 2]],
    [">=", { column: "size", op: ">=", value: 2 }, [2, 3]],
    ["lt", { column: "big", op: "lt", value: 1 }, [3]],
    ["<", { column: "ratio", op: "<", value: 0.5 }, [3]],
    ["le", { column: "at", op: "le", value: "2023-12-31 23:59:59" }, [3]],
    ["<=", { column: "name", op: "<=", value: "Apple" }, [1, 3, 4]],
    ["a float equals what was written", { column: "ratio", value: 99.16 }, [2]],
    ["a big integer beyond doubles is exact", { column: "big", value: "9007199254740993" }, [2]],
    ["like ignores case", { column: "name", op: "like", value: "%AN%" }, [2, 4]],
    ["like on a number goes by its text", { column: "price", op: "like", value: "10%" }, [3]],
    ["notlike", { column: "name", op: "not like", value: "%an%" }, [1, 3]],
    ["match finds inside", { column: "name", op: "match", value: "ANA" }, [2, 4]],
    ["match takes %, _ and \\ literally", { column: "name", op: "match", value: "0%_S" }, [3]],
    ["match of one % is no wildcard", { column: "name", op: "match", value: "%" }, [3]],
    ["in a list", { column: "size", op: "in", value: [1, "3"] }, [1, 3]],
    ["in a text with commas", { column: "kind", op: "in", value: "a, b" }, [1, 2]],
    ["in nothing", { column: "size", op: "in", value: [] }, []],
    ["notin", { column: "size", op: "notin", value: [1] }, [2, 3]],
    ["notin nothing", { column: "size", op: "not in", value: [] }, [1, 2, 3, 4]],
    ["null", { column: "size", op: "null" }, [4]],
    ["notnull", { column: "size", op: "notnull" }, [1, 2, 3]],
    ["is not null", { column: "size", op: "is not null" }, [1, 2, 3]],
    ["= null is null", { column: "size", value: null }, [4]],
    ["ne null is notnull", { column: "size", op: "ne", value: null }, [1, 2, 3]],
    ["json equals as a value, whatever the order of keys", { column: "data", value: { x: 1 } }, [1]],
    ["a json text", { column: "data", value: "text" }, [3]],
    ["json in its text", { column: "data", op: "match", value: "x" }, [1, 3]],
  ])("%s", async (_title, where, expected) => {
    expect(await ids({ wheres: [where] })).toEqual(expected);
  });

  test("conditions are joined by AND, and orwhere is an OR that binds weaker", async () => {
    const apple = { column: "name", value: "Apple" };
    const small = { column: "size", op: "lt", value: 3 };
    const old = { column: "day", op: "lt", value: "2024-01-01" };
    expect(await ids({ wheres: [apple, small] })).toEqual([1]);
    expect(await ids({ wheres: [apple, { ...old, method: "orwhere" }] })).toEqual([1, 3]);
    expect(await ids({ wheres: [apple, { ...small, method: "orWhere" }, { column: "isNew", value: false }] })).toEqual([
      1, 2,
    ]);
    expect(await ids({ wheres: [{ wheres: [apple, { ...old, method: "or" }] }, small] })).toEqual([1]);
    expect(await ids({ wheres: [apple, { method: "orwhere", wheres: [old, { column: "size", value: 3 }] }] })).toEqual([
      1, 3,
    ]);
    expect(await ids({ wheres: [{ wheres: [] }, { ...apple, method: "orwhere" }] })).toEqual([1]);
    expect(await ids({ wheres: apple })).toEqual([1]);
  });

  test.each<[string, JsonObject, string]>([
    [
      "an unknown column",
      { wheres: [{ column: "nmae", value: 1 }] },
      'thing has no column "nmae"; did you mean "name"? The columns are id, name, size',
    ],
    ["no column", { wheres: [{ value: 1 }] }, "a column must be named by text"],
    [
      "an unknown op",
      { wheres: [{ column: "name", op: "=~", value: 1 }] },
      'unknown op "=~" in wheres; the operators are eq',
    ],
    ["an op of Object", { wheres: [{ column: "name", op: "constructor", value: 1 }] }, 'unknown op "constructor"'],
    [
      "a method nobody knows",
      { wheres: [{ column: "name", value: 1, method: "xor" }] },
      "the methods are where and orwhere",
    ],
    ["a misspelt key", { where: [] }, 'the query has an unknown key "where"; did you mean "wheres"?'],
    ["a misspelt key in a condition", { wheres: [{ colum: "name" }] }, 'did you mean "column"?'],
    [
      "a value of the wrong kind",
      { wheres: [{ column: "size", value: "big" }] },
      'size must be a whole number, not "big"',
    ],
    ["an object for a number", { wheres: [{ column: "size", value: { $gt: 1 } }] }, "size must be a whole number"],
    ["an option nobody has", { wheres: [{ column: "kind", value: "z" }] }, 'kind must be one of a, b, c, not "z"'],
    [
      "a number beyond the column",
      { wheres: [{ column: "size", value: 2 ** 40 }] },
      "size must be a whole number from -2147483648",
    ],
    [
      "a day that does not exist",
      { wheres: [{ column: "day", value: "2024-02-30" }] },
      "day must be a time like YYYY-MM-DD",
    ],
    ["an order that is none", { orders: [{ column: "name", option: "up" }] }, "the options are asc and desc"],
    ["ordering json", { wheres: [{ column: "data", op: ">", value: 1 }] }, "data can be compared with = and <> only"],
    ["> null", { wheres: [{ column: "size", op: ">", value: null }] }, "use the operator null"],
    ["an unknown relation", { withs: { owner: {} } }, 'thing has no relation "owner"; it has none'],
    ["wheres that are no list", { wheres: "1=1" }, 'wheres must be a list, not "1=1"'],
    ["column and group", { wheres: [{ column: "name", wheres: [] }] }, 'either "column" or "wheres"'],
    ["a negative limit", { limit: -1 }, "limit must be a whole number"],
    ["too deep groups", { wheres: nested(10) }, "wheres are nested more than 8 levels deep"],
    [
      "too many conditions",
      { wheres: Array.from({ length: 201 }, () => ({ column: "size", value: 1 })) },
      "at most 200 conditions",
    ],
    [
      "too long a list",
      { wheres: [{ column: "size", op: "in", value: Array.from({ length: 1001 }, () => 1) }] },
      "at most 1000 values",
    ],
    ["a like that ends in \\", { wheres: [{ column: "name", op: "like", value: "a\\" }] }, "must not end with"],
    ["the character zero", { wheres: [{ column: "name", value: "a\0b" }] }, "U+0000"],
  ])("%s is refused with what to do", async (_title, query, message) => {
    await expect(app.call("thing.Get", query)).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining(message),
    });
  });
});

describe("select and orders", () => {
  test("only the selected columns come, by list or by text", async () => {
    expect(await app.call("thing.Get", { select: ["name", "size"], limit: 1 })).toEqual([{ name: "Apple", size: 1 }]);
    expect(await app.call("thing.Get", { select: "size, name", limit: 1 })).toEqual([{ size: 1, name: "Apple" }]);
    expect(await app.call<JsonObject[]>("thing.Get", { select: ["*"], limit: 1 })).toMatchObject([
      { kind: "a", big: 1 },
    ]);
  });

  test("orders go in turn, nothing before everything", async () => {
    expect(await ids({ orders: [{ column: "size", option: "desc" }] })).toEqual([3, 2, 1, 4]);
    expect(await ids({ orders: [{ column: "size" }] })).toEqual([4, 1, 2, 3]);
    expect(
      await ids({
        orders: [
          { column: "isNew", option: "DESC" },
          { column: "name", option: "asc" },
        ],
      }),
    ).toEqual([3, 1, 2, 4]);
  });

  test("big integers come as numbers when those are exact, else as text", async () => {
    expect(await app.call("thing.Get", { select: ["big"] })).toEqual([
      { big: 1 },
      { big: "9007199254740993" },
      { big: -5 },
      { big: null },
    ]);
  });
});

describe("SQL in every field", () => {
  const ATTACKS = [
    `"; DROP TABLE thing; --`,
    `'; DROP TABLE thing; --`,
    `1) OR (1=1`,
    `name" = "name`,
    `name as x`,
    `r.name`,
    `pg_sleep(10)`,
    String.raw`\'; SELECT 1; --`,
    `$1`,
    `name; SELECT`,
    `id" FROM pg_user; --`,
  ];

  test.each(ATTACKS)("%s stays a value or is refused, and nothing else is read or lost", async (attack) => {
    const queries: JsonObject[] = [
      { select: [attack] },
      { wheres: [{ column: attack, value: 1 }] },
      { wheres: [{ column: "name", op: attack, value: 1 }] },
      { wheres: [{ column: "name", value: attack }] },
      { wheres: [{ column: "name", op: "like", value: attack }] },
      { wheres: [{ column: "name", op: "match", value: attack }] },
      { wheres: [{ column: "name", op: "in", value: [attack] }] },
      { wheres: [{ column: "data", value: { [attack]: attack } }] },
      { wheres: [{ column: "size", value: attack }] },
      { wheres: [{ column: "at", value: attack }] },
      { wheres: [{ rel: attack, column: "name", value: 1 }] },
      { wheres: [{ column: "name", value: 1, method: attack }] },
      { orders: [{ column: attack }] },
      { orders: [{ column: "name", option: attack }] },
      { withs: { [attack]: {} } },
      { limit: attack },
      { page: attack, pagesize: attack },
      { [attack]: 1 },
    ];
    for (const query of queries) {
      const rows = await app.call<Json[]>("thing.Get", query).catch((error: unknown) => {
        expect(error).toMatchObject({ code: "invalid_argument" });
        return [];
      });
      expect(rows).toEqual([]);
    }
    await expect(app.call("thing.Create", { [attack]: 1 })).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(app.call("thing.Insert", [attack], [[1]])).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(app.call("thing.Upsert", { name: "x" }, attack)).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(app.call("thing.Find", attack)).rejects.toMatchObject({ code: "invalid_argument" });
    const id = await app.call<number>("thing.Create", { name: attack, data: { [attack]: [attack] } });
    expect(await app.call("thing.Find", id, { select: ["name", "data"] })).toEqual({
      name: attack,
      data: { [attack]: [attack] },
    });
    expect(
      await app.call("thing.Get", { wheres: [{ column: "name", op: "in", value: [attack] }], select: ["id"] }),
    ).toEqual([{ id }]);
    await app.call("thing.Destroy", id);
    expect(await app.call("thing.Count")).toBe(ROWS.length);
  });
});

describe("any conditions", () => {
  const VALUES = ["", "a", "A", "ab", "b%", "_b", "B"];
  interface Sample {
    readonly id: number;
    readonly name: string | null;
    readonly size: number | null;
  }
  type Test = { readonly column: "name" | "size"; readonly op: string; readonly value: Json };
  type Node = (Test | { readonly wheres: readonly Node[] }) & { readonly method?: string };

  const comparison = fc.oneof(
    fc.record({
      column: fc.constant("name" as const),
      op: fc.constantFrom("eq", "ne", "like", "match"),
      value: fc.constantFrom(...VALUES),
    }),
    fc.record({
      column: fc.constant("size" as const),
      op: fc.constantFrom("eq", "ne", "gt", "lt", "ge", "le"),
      value: fc.integer({ min: -2, max: 4 }),
    }),
    fc.record({
      column: fc.constant("size" as const),
      op: fc.constantFrom("in", "notin"),
      value: fc.array(fc.integer({ min: -2, max: 4 }), { maxLength: 3 }),
    }),
    fc.record({
      column: fc.constantFrom("name" as const, "size" as const),
      op: fc.constantFrom("null", "notnull"),
      value: fc.constant(null),
    }),
  );
  const method = fc.constantFrom({}, { method: "where" }, { method: "orwhere" });
  const tree = fc.letrec<{ node: Node; list: readonly Node[] }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.tuple(comparison, method).map(([test, how]): Node => ({ ...test, ...how })),
      fc.tuple(tie("list"), method).map(([wheres, how]): Node => ({ wheres, ...how })),
    ),
    list: fc.array(tie("node"), { maxLength: 4 }),
  }));

  test("find the rows that a filter in JavaScript finds", async () => {
    const own = await fixture.app({ thing: THING });
    const samples: Sample[] = [null, ...VALUES].flatMap((name, i) =>
      [null, -1, 0, 3].map((size, j) => ({ id: i * 4 + j + 1, name, size })),
    );
    await own.call(
      "thing.Insert",
      samples.map((sample) => ({ ...sample })),
    );
    await fc.assert(
      fc.asyncProperty(tree.list, async (wheres) => {
        const expected = samples.filter((sample) => passes(wheres, sample) ?? true).map((sample) => sample.id);
        expect(await ids({ wheres: wheres as unknown as Json }, own)).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  // Undefined: the list says nothing.
  function passes(nodes: readonly Node[], sample: Sample): boolean | undefined {
    let alternatives: boolean[] | undefined;
    for (const node of nodes) {
      const passed = "wheres" in node ? passes(node.wheres, sample) : holds(node, sample);
      if (passed === undefined) continue;
      const last = alternatives?.at(-1);
      if (alternatives === undefined || last === undefined || node.method === "orwhere")
        (alternatives ??= []).push(passed);
      else alternatives[alternatives.length - 1] = last && passed;
    }
    return alternatives?.some(Boolean);
  }

  function holds({ column, op, value }: Test, sample: Sample): boolean {
    const actual = sample[column];
    if (op === "null") return actual === null;
    if (op === "notnull") return actual !== null;
    if (op === "notin" && (value as Json[]).length === 0) return true;
    if (actual === null) return false;
    if (op === "in") return (value as Json[]).includes(actual);
    if (op === "notin") return !(value as Json[]).includes(actual);
    if (op === "match")
      return String(actual)
        .toLowerCase()
        .includes((value as string).toLowerCase());
    if (op === "like") return likePattern(value as string).test(String(actual));
    const compare: Record<string, boolean> = {
      eq: actual === value,
      ne: actual !== value,
      gt: Number(actual) > Number(value),
      lt: Number(actual) < Number(value),
      ge: Number(actual) >= Number(value),
      le: Number(actual) <= Number(value),
    };
    return compare[op] ?? false;
  }

  function likePattern(text: string): RegExp {
    return new RegExp(`^${text.replaceAll("%", ".*").replaceAll("_", ".")}$`, "i");
  }
});

function nested(depth: number): Json {
  return depth === 0 ? [{ column: "size", value: 1 }] : [{ wheres: nested(depth - 1) }];
}
