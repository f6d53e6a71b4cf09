import { bundleApp, demoAppDirectory, readAppDirectory } from "@mesh/assistants";
import { MeshError } from "@mesh/kernel";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { refusal, startTenant, type Tenant } from "../auth/testing/tenant.ts";
import type { Call } from "../gateway/operation.ts";

let tenant: Tenant;
let admin: Call;
let workspace = "";
let round = 0;

beforeAll(async () => {
  tenant = await startTenant();
  admin = tenant.as(tenant.admin);
});

beforeEach(async () => {
  workspace = `w${(round += 1)}`;
  await tenant.workspaces.createWorkspace({ name: workspace }, admin);
});

afterAll(async () => {
  await tenant[Symbol.asyncDispose]();
});

function bundleOf(files: Readonly<Record<string, string>>): Buffer {
  return Buffer.from(bundleApp(new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]))).bytes);
}

const X = { "assistants/x/package.yao": '{"name":"X","connector":"c","tags":["a","b"]}' };
const CONNECTOR = {
  "connectors/c.conn.yao": '{"type":"openai","label":"C","options":{"model":"m","key":"$ENV.C_KEY"}}',
};
const push = (app: string, bundle: Buffer): ReturnType<Tenant["apps"]["pushApp"]> =>
  tenant.apps.pushApp({ workspace, app, bundle, reset_models: false }, admin);

describe("a push", () => {
  test("stores the app, its assistants and its connectors", async () => {
    const pushed = await push("x", bundleOf({ ...X, ...CONNECTOR }));
    expect(pushed).toMatchObject({ changed: true, app: { name: "x", version: 1, assistants: 1 } });
    const read = await tenant.apps.getApp({ workspace, app: "x" }, admin);
    expect(read.assistants).toEqual([
      {
        id: "x",
        name: "X",
        description: "",
        app: "x",
        app_version: 1,
        connector: "c",
        tags: ["a", "b"],
        type: "assistant",
        avatar: "",
      },
    ]);
    const { connectors } = await tenant.connectors.listConnectors({ workspace }, admin);
    expect(connectors.map(({ id, source, env }) => [id, source, env])).toEqual([
      ["c", "app", ["C_KEY"]],
      ["demo", "builtin", []],
    ]);
  });

  test("of the same bundle changes nothing; of another makes the next version and replaces the content", async () => {
    const bundle = bundleOf(X);
    await push("x", bundle);
    expect(await push("x", bundle)).toMatchObject({ changed: false, app: { version: 1 } });
    const next = await push("x", bundleOf({ "assistants/y/package.yao": '{"name":"Y"}' }));
    expect(next).toMatchObject({ changed: true, app: { version: 2 } });
    const { versions, assistants } = await tenant.apps.getApp({ workspace, app: "x" }, admin);
    expect(versions.map(({ version }) => version)).toEqual([2, 1]);
    expect(assistants.map(({ id }) => id)).toEqual(["y"]);
    expect(await refusal(tenant.apps.getAssistant({ workspace, assistant: "x" }, admin))).toMatchObject({
      code: "not_found",
    });
  });

  test("with problems changes nothing and reports all of them with file and line", async () => {
    const broken = bundleOf({
      "assistants/a/package.yao": '{\n  "tags": 1\n}',
      "assistants/b/package.yao": "{",
      "assistants/b/prompts.yml": "- role: [",
    });
    const failure = await push("x", broken).catch((error: unknown) => MeshError.from(error));
    expect(failure).toMatchObject({ code: "invalid_argument" });
    const problems = (failure as MeshError).details?.["problems"] as { file: string; line: number }[];
    expect(new Set(problems.map(({ file }) => file))).toEqual(
      new Set(["assistants/a/package.yao", "assistants/b/package.yao", "assistants/b/prompts.yml"]),
    );
    expect((failure as MeshError).message).toMatch(/assistants\/a\/package\.yao/);
    expect((await tenant.apps.listApps({ workspace }, admin)).apps).toEqual([]);
  });

  test.each([
    ["no bundle at all", Buffer.from("hello"), /not an app bundle/],
    ["the wrong directory", bundleOf({ "README.md": "hi" }), /no assistant found: an app has files such as/],
  ])("of %s says what to do", async (_title, bundle, message) => {
    expect(await refusal(push("x", bundle))).toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(message),
    });
  });

  test("of an assistant that belongs to another app is refused, and possible once that app is gone", async () => {
    await push("first", bundleOf(X));
    const second = bundleOf({ ...X, "assistants/z/package.yao": '{"name":"Z"}' });
    expect(await refusal(push("second", second))).toMatchObject({
      code: "already_exists",
      message: expect.stringContaining("assistant x belongs to app first"),
    });
    await tenant.apps.removeApp({ workspace, app: "first" }, admin);
    expect(await push("second", second)).toMatchObject({ app: { assistants: 2 } });
  });

  test("by several at once makes one version each, without a failure", async () => {
    const bundles = Array.from({ length: 4 }, (_, i) => bundleOf({ "assistants/x/package.yao": `{"name":"X${i}"}` }));
    await Promise.all(bundles.map((bundle) => push("x", bundle)));
    const { versions, app } = await tenant.apps.getApp({ workspace, app: "x" }, admin);
    expect(versions.map(({ version }) => version)).toEqual([4, 3, 2, 1]);
    expect(app?.digest).toBe(versions[0]?.digest);
  });

  test("of the demo app works", async () => {
    const bundle = Buffer.from(bundleApp(await readAppDirectory(demoAppDirectory)).bytes);
    const pushed = await push("demo", bundle);
    expect(pushed.app?.assistants).toBeGreaterThan(2);
    expect(pushed.warnings).toEqual([]);
  });
});

describe("the models of an app", () => {
  const model = (columns: readonly object[]): Readonly<Record<string, string>> => ({
    ...X,
    "assistants/x/models/order.mod.yao": JSON.stringify({ name: "Order", table: { name: "order" }, columns }),
  });
  const ID = { name: "id", type: "ID", primary: true };
  const NO = { name: "no", type: "string", length: 20 };
  const tables = (): Promise<{ name: string }[]> =>
    tenant.store.sql<{ name: string }[]>`
      SELECT c.table_name || '.' || c.column_name AS name FROM information_schema.columns c
      JOIN workspaces w ON c.table_schema = lower(w.id) WHERE w.name = ${workspace} ORDER BY 1`;

  test("become tables of the workspace, and a push says what it added", async () => {
    const first = await push("x", bundleOf(model([ID])));
    expect(first.migrations.join("\n")).toContain("agents_x_order");
    const second = await push("x", bundleOf(model([ID, NO])));
    expect(second.migrations.join("\n")).toContain("add the column agents_x_order.no");
    expect((await tables()).map(({ name }) => name)).toEqual(["agents_x_order.id", "agents_x_order.no"]);
  });

  test("that would lose data are refused with the whole push, and rebuilt when that is asked for", async () => {
    await push("x", bundleOf(model([ID, NO])));
    const changed = bundleOf(model([ID, { name: "no", type: "integer" }]));
    const refused = await refusal(push("x", changed));
    expect(refused.code).toBe("failed_precondition");
    expect(refused.message).toContain("no");
    expect((await tenant.apps.getApp({ workspace, app: "x" }, admin)).app?.version).toBe(1);
    const reset = await tenant.apps.pushApp({ workspace, app: "x", bundle: changed, reset_models: true }, admin);
    expect(reset).toMatchObject({ changed: true, app: { version: 2 } });
  });

  test("with mistakes are refused like any other file, naming the file", async () => {
    const bundle = bundleOf({
      ...X,
      "assistants/x/models/bad.mod.yao": '{"name":"Bad","columns":[{"name":"a","type":"nope"}]}',
    });
    const refused = await refusal(push("x", bundle));
    expect(refused.message).toContain("assistants/x/models/bad.mod.yao");
  });
});
