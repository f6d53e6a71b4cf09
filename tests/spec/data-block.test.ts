/** Every block of JSON and YAML of the documents loads without a finding and does what its kind of file does; scripts in files run. */

import { localizeAssistant, translator } from "@mesh/assistants";
import type { Json, JsonObject } from "@mesh/kernel";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { ModelFixture } from "../../services/models/src/testing/model-fixture.ts";
import { assistant, type AppRun } from "../../services/runtime/src/testing/app-run.ts";
import { fixtureFiles } from "./fixture-app.ts";
import { SpecApp } from "./spec-app.ts";
import { type Block, blocksOf, hasSpec } from "./spec-document.ts";

const blocks = ["configuration", "i18n", "mcp", "models"].flatMap(blocksOf);
const named = new Map(blocks.map((block) => [block.name, block]));
const json = blocks.filter(({ language }) => language === "json");
const valueOf = ({ code }: Block): JsonObject => JSON.parse(code) as JsonObject;
const has = (block: Block, ...keys: readonly string[]): boolean => keys.some((key) => key in valueOf(block));

const servers = json.filter((block) => has(block, "transport"));
const schemas = json.filter((block) => has(block, "x-process-args"));
const models = json.filter((block) => has(block, "columns", "relations", "option"));
const packages = json.filter((block) => !has(block, "transport", "x-process-args", "columns", "relations", "option"));

function codeOf(name: string): string {
  return named.get(name)?.code ?? "";
}

function idOf({ name }: Block): string {
  return name.replace(":", "-");
}

const LOCALES = {
  "en-us": () => `${codeOf("i18n:18")}\ndescription: What it does\n${codeOf("i18n:140")}`,
  "zh-cn": () => codeOf("i18n:34"),
};

function packageFiles(block: Block): Record<string, string> {
  // The one assistant whose server is its own.
  const id = block.code.includes("Inventory Assistant") ? "inventory" : idOf(block);
  const base = `assistants/${id}`;
  const locales = Object.entries(LOCALES).map(([locale, text]) => [`${base}/locales/${locale}.yml`, text()]);
  return {
    ...(Object.fromEntries(locales) as Record<string, string>),
    [`${base}/package.yao`]: JSON.stringify({ name: "{{ name }}", ...valueOf(block) }),
    [`${base}/prompts.yml`]: codeOf("i18n:74"),
  };
}

const ARGUMENTS: JsonObject = { type: "object", description: "Anything", "x-process-args": [":arguments"] };
const LISTS = `function Next(ctx) {
  const names = ctx.mcp.ListTools("tools").tools.map((tool) => tool.name);
  return { data: { names, first: ctx.mcp.CallTool("tools", names[0], {}) ?? null } };
}`;

function serverFiles(block: Block): Record<string, string> {
  const id = idOf(block);
  const { tools = {}, resources = {} } = valueOf(block) as Record<string, JsonObject>;
  const mapping = `assistants/${id}/mcps/mapping/tools`;
  const files = { ...assistant(id, { hooks: LISTS }), [`assistants/${id}/mcps/tools.mcp.yao`]: block.code };
  for (const tool of Object.keys(tools)) files[`${mapping}/schemes/${tool}.in.yao`] = JSON.stringify(ARGUMENTS);
  for (const name of Object.keys(resources)) {
    files[`${mapping}/resources/${name}.res.yao`] = JSON.stringify({ uri: `data://${name}`, description: name });
  }
  return files;
}

const SEARCHES = `function Next(ctx, { messages }) {
  try { return { data: ctx.mcp.CallTool("tools", "search", JSON.parse(messages.at(-1).content)) }; } catch (e) { return { data: e.message }; }
}`;

function schemaFiles(block: Block): Record<string, string> {
  const id = idOf(block);
  const server = { label: "Tools", transport: "process", tools: { search: "scripts.tools.Search" } };
  return {
    ...assistant(id, { hooks: SEARCHES }),
    [`assistants/${id}/mcps/tools.mcp.yao`]: JSON.stringify(server),
    [`assistants/${id}/mcps/mapping/tools/schemes/search.in.yao`]: block.code,
  };
}

const CALLS = `import { Process } from "@yao/runtime";
  function Next(ctx, { messages }) {
    const [name, ...args] = JSON.parse(messages.at(-1).content);
    try { return { data: Process(name, ...args) }; } catch (e) { return { data: e.message }; }
  }`;

let app: SpecApp;

beforeAll(async () => {
  if (!hasSpec) return;
  const inventory = "assistants/inventory/mcps";
  const files: Record<string, string> = {
    ...fixtureFiles(blocks),
    ...Object.assign({}, ...packages.map(packageFiles)),
    ...Object.assign({}, ...servers.map(serverFiles)),
    ...Object.assign({}, ...schemas.map(schemaFiles)),
    ...assistant("caller", { hooks: CALLS }),
    [`${inventory}/inventory.mcp.yao`]: codeOf("models:312"),
  };
  for (const tool of ["list_products", "get_product", "update_stock"]) {
    files[`${inventory}/mapping/inventory/schemes/${tool}.in.yao`] = JSON.stringify(ARGUMENTS);
  }
  app = await SpecApp.open(files);
});

afterAll(() => app?.[Symbol.asyncDispose]());

async function dataOf(run: Promise<AppRun>): Promise<Json | undefined> {
  const { outcome, error } = await run;
  expect(error?.message).toBeUndefined();
  return outcome?.next;
}

function call(...args: readonly Json[]): Promise<Json | undefined> {
  return dataOf(app.run("caller", JSON.stringify(args)));
}

describe.skipIf(!hasSpec)("the files of the documents", () => {
  test("load as one app without a finding", () => {
    expect(app.app.problems).toEqual([]);
    expect([packages.length, servers.length, schemas.length, models.length]).toEqual([20, 9, 2, 4]);
  });

  test.each(packages.filter(({ code }) => !code.includes("Inventory Assistant")))(
    "$name: the assistant runs",
    async (block) => {
      const { outcome, error, provider } = await app.run(idOf(block), "Hello");
      expect(error?.message).toBeUndefined();
      expect(outcome?.output).toBe("An answer");
      const { name } = valueOf(block);
      const shown = name === undefined || name === "{{ name }}" ? "My Assistant" : name;
      expect(provider.requests[0]?.systemPrompt).toContain("You are My Assistant.\nWhat it does");
      const loaded = app.app.app.assistants.get(idOf(block));
      if (loaded === undefined) throw new Error("it was not loaded");
      expect(localizeAssistant(loaded, "en-us", app.app.app).name).toBe(shown);
      expect(JSON.stringify(localizeAssistant(loaded, "en-us", app.app.app))).not.toContain("{{");
    },
  );

  test.each(servers.filter((block) => has(block, "tools")))(
    "$name: the server offers its tools, which call processes",
    async (block) => {
      const next = await dataOf(app.run(idOf(block), "Hello"));
      expect(next).toMatchObject({ names: Object.keys(valueOf(block)["tools"] as JsonObject) });
    },
  );

  test.each(servers.filter((block) => !has(block, "tools")))(
    "$name: the server is known with all that is said of it",
    (block) => {
      const {
        mapping: _,
        id: __,
        path: ___,
        assistantId,
        ...loaded
      } = app.app.app.mcpServers.get(`agents.${idOf(block)}.tools`) ?? {};
      expect([assistantId, loaded]).toEqual([idOf(block), valueOf(block)]);
    },
  );

  test("mcp:244 and mcp:263: a tool gets the whole arguments, and only such as fit its schema", async () => {
    const asked = { keyword: "tea", page: 2 };
    expect(await dataOf(app.run("mcp-244", JSON.stringify(asked)))).toEqual({ items: [], asked });
    const nested = { intent: "query", items: [{ name: "a", value: 1 }] };
    expect(await dataOf(app.run("mcp-263", JSON.stringify(nested)))).toEqual({ items: [], asked: nested });
    expect(await dataOf(app.run("mcp-263", '{"items":[{"name":"a"}]}'))).toMatch(/intent|value/);
  });

  test("i18n: texts are found by locale and dotted key, as a whole list or by number", () => {
    const loaded = app.app.app.assistants.get(idOf(packages[0]!));
    if (loaded === undefined) throw new Error("the first package is not an assistant");
    const say = (locale: string, key: string): string | undefined => translator(loaded, locale, app.app.app)(key);
    expect(say("en-us", "chat.prompts.1")).toBe("Help me with a task");
    expect(say("zh-cn", "messages.welcome")).toBe("欢迎回来！");
    expect(say("zh-cn", "errors.network.timeout")).toBe("Connection timed out");
    expect(say("fr", "chat.title")).toBe("New Chat");
    expect(say("en-us", "nowhere")).toBeUndefined();
  });
});

describe.skipIf(!hasSpec)("the models of the documents", () => {
  let fixture: ModelFixture;
  beforeAll(async () => {
    fixture = await ModelFixture.open();
  });
  afterAll(() => fixture?.[Symbol.asyncDispose]());

  test.each(models)("$name becomes a table that takes and gives rows", async (block) => {
    const whole = has(block, "columns")
      ? valueOf(block)
      : { ...(JSON.parse(codeOf("models:25")) as JsonObject), ...valueOf(block) };
    const own = Object.entries(fixtureFiles(blocks)).filter(([path]) =>
      /my-assistant.*(?:item|customer)\.mod\.yao$/.test(path),
    );
    const caller = await fixture.app({
      ...(Object.fromEntries(own.map(([path, text]) => [path, JSON.parse(text)])) as Record<string, JsonObject>),
      "assistants/my-assistant/models/order.mod.yao": whole,
    });
    const row: JsonObject =
      whole["name"] === "Product"
        ? { sku: "t", name: "Tea", price: 2.5 }
        : { order_no: "o", customer_id: "c", total_amount: 12.34 };
    const id = await caller.call<number>("agents.my-assistant.order.Create", row);
    const found = await caller.call<JsonObject>("agents.my-assistant.order.Find", id, {});
    expect(found).toMatchObject(whole["name"] === "Product" ? { sku: "t", quantity: 0 } : { status: "pending" });
    expect(found["created_at"]).toEqual(expect.any(String));
    if (!("relations" in whole)) return;
    await caller.call("agents.my-assistant.item.Create", { order_id: id, name: "Tea" });
    const [order] = await caller.call<JsonObject[]>("agents.my-assistant.order.Get", { withs: { items: {} } });
    expect(order?.["items"]).toMatchObject([{ name: "Tea" }]);
  });
});

describe.skipIf(!hasSpec)("the scripts of the documents", () => {
  test("models:149: orders are made, listed and changed", async () => {
    const order = { order_no: "A-1", customer_id: "c1", total_amount: 10 };
    const id = await call("agents.my-assistant.orders.CreateOrder", order);
    expect(await call("agents.my-assistant.orders.ListPending")).toMatchObject([
      { id, order_no: "A-1", status: "pending" },
    ]);
    await call("agents.my-assistant.orders.UpdateStatus", id as Json, "shipped");
    expect(await call("agents.my-assistant.orders.ListPending")).toEqual([]);
  });

  test("models:326, models:283 and models:312: a model's tool call changes the stock", async () => {
    const id = await call("models.agents.inventory.product.Create", { sku: "t", name: "Tea", price: 2.5 });
    const steps = [
      { calls: [{ name: "inventory__update_stock", arguments: { sku: "t", quantity: 7 } }] },
      { calls: [{ name: "inventory__update_stock", arguments: { sku: "none", quantity: 7 } }] },
      { text: "Done" },
    ];
    const { outcome, error, provider } = await app.run("inventory", "Count the tea", { steps });
    expect(error?.message).toBeUndefined();
    expect(outcome?.output).toBe("Done");
    expect(await call("models.agents.inventory.product.Find", id as Json, {})).toMatchObject({ quantity: 7 });
    expect(JSON.stringify(provider.requests.at(-1)?.messages)).toContain("Product not found: none");
  });
});
