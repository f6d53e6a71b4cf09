import { Validator } from "@cfworker/json-schema";
import type { JsonObject } from "@mesh/kernel";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { loadCatalog } from "./catalog.ts";
import { modelSchema } from "./model-schema.ts";
import { placeOf, tableName } from "./name.ts";
import { parseModel } from "./parse-model.ts";
import { corpusModels, hasCorpus } from "./testing/corpus.ts";

const PATH = "models/thing.mod.yao";

/** What is found in a file, as `severity line: message`. */
function findings(text: string): string[] {
  const { problems } = parseModel(text, { path: PATH });
  return problems.map(({ severity, line, message }) => `${severity} ${line ?? "-"}: ${message}`);
}

function withColumn(column: JsonObject, more: JsonObject = {}): string {
  return JSON.stringify({ columns: [{ name: "id", type: "ID" }, column], ...more });
}

describe("ids and tables", () => {
  test.each([
    ["models/order.mod.yao", "order", undefined],
    ["models/admin/user.mod.json", "admin.user", undefined],
    ["assistants/expense/models/order.mod.yao", "agents.expense.order", "expense"],
    ["assistants/my-assistant/models/nested/log.mod.jsonc", "agents.my-assistant.nested.log", "my-assistant"],
    ["assistants/tests/demo/models/user.mod.yao", "agents.tests.demo.user", "tests.demo"],
    ["assistants/models/models/user.mod.yao", "agents.models.user", "models"],
  ])("%s is %s", (path, id, assistantId) => {
    expect(placeOf(path)).toMatchObject({ id, assistantId });
  });

  test.each([
    "order.mod.yao",
    "models/order.yao",
    "models/.mod.yao",
    "models/../x.mod.yao",
    "assistants/a/order.mod.yao",
    "src/models/a.mod.yao",
    "src/shop/models/a.mod.yao",
  ])("%s is no model file", (path) => {
    expect(placeOf(path)).toBeUndefined();
    expect(parseModel("{}", { path }).model).toBeUndefined();
  });

  test.each([
    ["order", "expense", "agents_expense_order"],
    ["user", "tests.demo", "agents_tests_demo_user"],
    ["my-table", "my-assistant", "agents_my_assistant_my_table"],
    ["agents_expense_order", "expense", "agents_expense_order"],
    ["order", undefined, "order"],
    [`a"; DROP.b c`, undefined, "a___DROP_b_c"],
  ])("the table %s of %s is %s", (written, assistant, table) => {
    expect(tableName(written, assistant)).toBe(table);
  });

  test("long names are cut to what PostgreSQL takes, and stay different", () => {
    const [one, two] = ["é".repeat(80), `${"é".repeat(80)}x`].map((name) => tableName(name, "assistant"));
    expect(one).not.toBe(two);
    expect(Buffer.byteLength(one!)).toBeLessThanOrEqual(63);
    expect(one).toMatch(/^agents_assistant_é+_[0-9a-f]{10}$/);
  });

  test("of two models of one table or one id the second is not loaded, a relation to nowhere is a warning", () => {
    const model = (table: string, more: JsonObject = {}): string =>
      JSON.stringify({ table: { name: table }, columns: [{ name: "id", type: "ID" }], ...more }, null, 1);
    const relation = { r: { type: "hasOne", model: "gone", key: "id", foreign: "id" } };
    const { catalog, problems } = loadCatalog([
      { path: "assistants/a/models/one.mod.yao", text: model("t") },
      { path: "assistants/a/models/two.mod.yao", text: model("agents_a_t") },
      { path: "models/three.mod.json", text: model("three", { relations: relation }) },
      { path: "models/three.mod.yao", text: model("four") },
      { path: "models/bad.mod.yao", text: "{" },
    ]);
    expect(catalog.models.map((one) => one.id)).toEqual(["agents.a.one", "three"]);
    expect(problems).toEqual([
      {
        path: "models/bad.mod.yao",
        line: 1,
        message: "not JSON: the file ends too early; a bracket is not closed",
        severity: "error",
      },
      {
        path: "models/three.mod.yao",
        message: "the id three is that of models/three.mod.json already",
        severity: "error",
      },
      {
        path: "assistants/a/models/two.mod.yao",
        message:
          "not loaded: the table agents_a_t is that of assistants/a/models/one.mod.yao already; give this model another table name",
        severity: "warning",
      },
      {
        path: "models/three.mod.json",
        line: expect.any(Number),
        message: 'relation "r": there is no model "gone"; the relation cannot be used',
        severity: "warning",
      },
    ]);
  });

  test("a short name means the assistant's own model first", () => {
    const text = JSON.stringify({ columns: [{ name: "id", type: "ID" }] });
    const paths = ["models/item.mod.yao", "models/only.mod.yao", "assistants/a/models/item.mod.yao"];
    const { catalog } = loadCatalog(paths.map((path) => ({ path, text })));
    expect(catalog.resolve("item", "a")?.id).toBe("agents.a.item");
    expect(catalog.resolve("item", undefined)?.id).toBe("item");
    expect(catalog.resolve("only", "a")?.id).toBe("only");
    expect(catalog.resolve("agents.a.item", "b")?.id).toBe("agents.a.item");
  });
});

describe("problems name the line and what to do", () => {
  test("of a file with several", () => {
    const text = `{
      "nmae": "x",
      "columns": [
        { "name": "id", "type": "ID" },
        { "name": "a b", "type": "string" },
        { "name": "c", "type": "strnig" },
        { "name": "d", "type": "blob" },
        { "name": "e", "type": "enum" },
        { "name": "f", "type": "string", "length": "20" },
        { "name": "g", "type": "integer", "default": "many" },
        { "name": "ctid", "type": "string" },
        { "name": "h", "type": "decimal", "precision": 4, "scale": 5 },
        { "name": "h", "type": "text" },
        { "type": "text" },
        { "name": "i", "type": "string", "default_raw": "1; DROP TABLE x" },
        { "name": "j", "type": "string", "validations": [{ "method": "pattern", "args": ["(?=x)"] }] },
        "k"
      ],
      "relations": { "r": { "type": "hasmany", "model": "m", "key": "k", "foreign": "nope" }, "s": { "type": "has" } },
      "indexes": [{ "columns": ["z"] }, { "columns": ["id"], "type": "btree" }],
      "values": [{ "zz": 1 }],
      "option": { "timestamp": true, "soft_deletes": "yes" },
    }`;
    expect(findings(text)).toEqual([
      'warning 2: unknown key "nmae"; did you mean "name"?',
      "error 5: a column name has letters, digits and _ only and starts with a letter or _",
      'error 6: unknown column type "strnig"; did you mean "string"?',
      expect.stringMatching(/^error 7: unknown column type "blob"; the types are ID, string, char, text/),
      'error 8: an enum needs "option": a list of 1 to 1000 texts of at most 255 characters',
      'error 9: columns.5.length must be a whole number from 1 to 10485760, not "20"',
      'error 10: default: g must be a whole number, not "many"',
      'error 11: the column name "ctid" is reserved; choose another',
      "error 12: scale 5 is larger than precision 4",
      'error 13: the column "h" is defined twice',
      "error 14: the column has no name",
      'error 15: default_raw may be "NOW()" for times or "UUID()" for a uuid; else use "default"',
      "error 16: not a valid pattern (look-arounds and back-references are not supported)",
      'error 17: columns.13 must be an object, not "k"',
      'error 19: "foreign": there is no column "nope" here',
      'error 19: unknown relation type "has"; the types are hasOne, hasMany, hasOneThrough, hasManyThrough',
      expect.stringMatching(/^error 20: there is no column "z"; the columns are id,/),
      'error 20: the type of an index is "index", "unique", "fulltext" or "primary"',
      expect.stringMatching(/^error 21: there is no column "zz"/),
      'warning 22: unknown key "timestamp"; did you mean "timestamps"?',
      'error 22: option.soft_deletes must be true or false, not "yes"',
    ]);
  });

  test.each<[string, string, string]>([
    ["an empty file", "", "error 1: the file is empty"],
    ["a list", "[]", "error 1: a model is one JSON object"],
    ["no columns", "{}", 'error 1: the model has no columns: add { "name": "id", "type": "ID" }'],
    ["broken JSON", '{\n "a": }', "error 2: not JSON: a value is expected here"],
    ["a prototype", '{\n "columns": [],\n "__proto__": {}}', 'error 3: the key "__proto__" is not allowed'],
    [
      "two keys",
      withColumn({ name: "a", type: "uuid", primary: true }),
      "error 1: only one column can be the primary key, not id and a",
    ],
    [
      "a reserved name",
      withColumn({ name: "__yao_team_id", type: "string" }),
      'error 1: the name "__yao_team_id" is reserved; set "permission": true in "option" instead',
    ],
    [
      "a protected number",
      withColumn({ name: "a", type: "integer", crypt: "AES" }),
      "error 1: crypt is for columns of text",
    ],
    [
      "too few links",
      withColumn({ name: "a", type: "text" }, { relations: { r: { type: "hasOneThrough", links: [] } } }),
      'error 1: a hasOneThrough relation needs "links": 2 to 4 steps, each with model, key and foreign',
    ],
    ["nesting without end", "[".repeat(100_000), "error"],
  ])("of %s", (_title, text, expected) => {
    expect(findings(text).join("\n")).toContain(expected);
  });

  test("comments and trailing commas are fine, and a model without a key is one with a warning", () => {
    const text = '{ // a comment\n "columns": [{ "name": "a", "type": "String", "nullable": true, },], }';
    expect(findings(text)).toEqual([expect.stringContaining("without a primary key")]);
    expect(parseModel(text, { path: PATH }).model?.columns.get("a")).toMatchObject({
      sqlType: "character varying(255)",
    });
  });

  test("whatever a file holds, reading it ends in a model or in errors, and never throws", () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
        const { model, problems } = parseModel(text, { path: PATH });
        expect(model === undefined).toBe(problems.some((problem) => problem.severity === "error"));
      }),
    );
    const value = fc.oneof(
      fc.constantFrom("id", "ID", "enum", "string", "hasOne", "AES", "NOW()", true, false, null, 0, -1, 1e9),
      fc.jsonValue(),
    );
    const column = fc.dictionary(
      fc.constantFrom(
        "name",
        "type",
        "length",
        "precision",
        "scale",
        "option",
        "default",
        "default_raw",
        "unique",
        "primary",
        "crypt",
        "validations",
      ),
      value,
    );
    const model = fc.record(
      {
        columns: fc.array(column),
        relations: fc.jsonValue(),
        indexes: fc.jsonValue(),
        values: fc.jsonValue(),
        option: fc.jsonValue(),
        table: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(model, (json) => {
        const result = parseModel(json as JsonObject, { path: PATH });
        expect(result.model === undefined).toBe(result.problems.some((problem) => problem.severity === "error"));
      }),
      { numRuns: 500 },
    );
  });
});

describe("the schema for editors", () => {
  const validator = new Validator(modelSchema as object, "2020-12");

  test("accepts the documented model and refuses what is not", () => {
    const model = {
      name: "Order",
      table: { name: "order" },
      columns: [
        { name: "id", type: "ID", primary: true },
        { name: "status", type: "enum", option: ["pending"], default: "pending", nullable: false, index: true },
      ],
      relations: { items: { type: "hasMany", model: "item", key: "order_id", foreign: "id" } },
      indexes: [{ name: "i", columns: ["status"], type: "index" }],
      option: { timestamps: true, soft_deletes: true },
    };
    expect(validator.validate(model).errors).toEqual([]);
    expect(validator.validate({ ...model, columns: [{ name: "id", type: "IDD" }] }).valid).toBe(false);
    expect(validator.validate({ ...model, option: { timestamp: true } }).valid).toBe(false);
  });
});

describe.skipIf(!hasCorpus)("published apps", () => {
  const files = [...corpusModels()].flatMap(([app, models]) =>
    models.map((file) => [`${app}/${file.path}`, file] as const),
  );

  test.each(files)("%s loads without a finding, and passes the schema", (_name, { path, text }) => {
    const { model, problems } = parseModel(text, { path });
    expect(problems).toEqual([]);
    expect(new Validator(modelSchema as object, "2020-12").validate(model?.source).errors).toEqual([]);
  });

  test("all of them are looked at", () => {
    expect(files).toHaveLength(15);
  });
});
