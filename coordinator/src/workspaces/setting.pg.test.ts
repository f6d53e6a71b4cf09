import { CreateRunRequest, WorkspaceSettings } from "@mesh/proto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { refusal } from "../auth/testing/tenant.ts";
import { createSecretSource } from "../connectors/connector-api.ts";
import type { Call } from "../gateway/operation.ts";
import { createDocumentApi } from "../knowledge/document-api.ts";
import { type Fleet, startFleet } from "../membership/testing/fleet.ts";

let fleet: Fleet;
let admin: Call;
let owner: Call;
let member: Call;
let viewer: Call;

beforeAll(async () => {
  fleet = await startFleet();
  const { tenant } = fleet;
  admin = tenant.as(tenant.admin);
  const scopes = ["runs", "workspaces"];
  owner = tenant.as(await tenant.user("olga", scopes, { workspace: "default", role: "owner" }));
  member = tenant.as(await tenant.user("max", scopes, { workspace: "default", role: "member" }));
  viewer = tenant.as(await tenant.user("vic", scopes, { workspace: "default", role: "viewer" }));
});

afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
});

const settings = (part: Partial<WorkspaceSettings>): WorkspaceSettings => WorkspaceSettings.fromPartial(part);
const update = (part: object, call = owner, workspace = "default") =>
  fleet.tenant.workspaces.updateWorkspace({ workspace, settings: undefined, ...part }, call);
const run = (call: Call, part: object = {}) =>
  fleet.runs.createRun(CreateRunRequest.fromPartial({ workspace: "default", assistant: "hello", ...part }), call);

describe("settings", () => {
  test("are set by owners, kept when they are not named, and tell the caller's role", async () => {
    const device = fleet.device();
    await fleet.join(device, await fleet.token(), { name: "desk" } as never);
    const wanted = settings({
      default_assistant: "hello",
      node_ids: ["desk"],
      max_active_runs: 3,
      max_storage_mb: 100,
    });
    const { workspace } = await update({ settings: wanted });
    const [nodeId] = workspace?.settings?.node_ids ?? [];
    expect(nodeId).toMatch(/^node_/);
    expect(workspace).toMatchObject({ name: "default", role: "owner", settings: { ...wanted, node_ids: [nodeId] } });
    expect((await refusal(update({ name: "main" }))).message).toContain("keeps its name");
    await fleet.tenant.workspaces.createWorkspace({ name: "team" }, owner);
    expect((await update({ name: "crew" }, owner, "team")).workspace?.name).toBe("crew");
    const seen = await fleet.tenant.workspaces.getWorkspace({ workspace: "default" }, viewer);
    expect(seen.workspace).toMatchObject({ role: "viewer", settings: { max_active_runs: 3 } });
    await update({ name: "default", settings: settings({}) });
    expect((await fleet.tenant.workspaces.getWorkspace({ workspace: "default" }, admin)).workspace?.settings).toEqual(
      settings({}),
    );
    const [row] = await fleet.tenant.store.sql`SELECT actor FROM audit WHERE action = 'workspace.update' LIMIT 1`;
    expect(row).toEqual({ actor: "user:olga" });
  });

  test("are refused to others, and for what is not there or taken", async () => {
    for (const call of [member, viewer]) {
      expect((await refusal(update({ settings: settings({}) }, call))).code).toBe("permission_denied");
    }
    await fleet.tenant.workspaces.createWorkspace({ name: "taken" }, admin);
    expect((await refusal(update({ name: "taken" }, owner, "crew"))).code).toBe("already_exists");
    expect((await refusal(update({ settings: settings({ default_assistant: "nobody" }) }))).message).toContain(
      "nobody",
    );
    expect((await refusal(update({ settings: settings({ node_ids: ["nowhere"] }) }))).message).toContain("nowhere");
    expect((await refusal(update({}, owner, "taken"))).code).toBe("not_found");
  });

  test("keep assistants to owners: members are told which they may run", async () => {
    await update({ settings: settings({ member_assistants: ["other"] }) });
    const refused = await refusal(run(member));
    expect(refused).toMatchObject({ code: "permission_denied", message: expect.stringContaining("may run other") });
    expect((await refusal(run(owner))).code).toBe("ok");
    expect((await refusal(run(admin))).code).toBe("ok");
    const { run: made } = await run(owner);
    await fleet.runs.cancelRun({ run: made?.id ?? "" }, owner);
    expect((await refusal(fleet.runs.retryRun({ run: made?.id ?? "" }, member))).code).toBe("permission_denied");
    await update({ settings: settings({ member_assistants: ["hello"] }) });
    expect((await refusal(run(member))).code).toBe("ok");
    await update({ settings: settings({}) });
  });
});

test("a run has the language its person prefers, unless the request names one", async () => {
  const caller = { ...member.caller, locale: "zh-cn" };
  const { run: made } = await run({ ...member, caller });
  const [row] = await fleet.tenant.store.sql`SELECT metadata FROM runs WHERE id = ${made?.id ?? ""}`;
  expect(row).toEqual({ metadata: { locale: "zh-cn" } });
  const named = await run({ ...member, caller }, { metadata: { locale: "de" } });
  const [kept] = await fleet.tenant.store.sql`SELECT metadata FROM runs WHERE id = ${named.run?.id ?? ""}`;
  expect(kept).toEqual({ metadata: { locale: "de" } });
});

describe("variables", () => {
  const put = (name: string, value: string, call = owner) =>
    fleet.tenant.workspaces.putSecret({ workspace: "default", name, value }, call);

  test("reach a run of their workspace and nobody else; the table, the audit and the answers hold no value", async () => {
    const { store, secretBox } = fleet.tenant;
    await put("SERVICE_KEY", "first value");
    const { secret } = await put("SERVICE_KEY", "second value");
    expect(secret).toMatchObject({ name: "SERVICE_KEY", updated_by: "olga" });
    const source = createSecretSource({ store, secretBox });
    const answer = await source({ workspaceId: fleet.defaultWorkspaceId, connector: "" });
    expect(answer.env).toEqual({ SERVICE_KEY: "second value" });
    expect((await source({ workspaceId: "ws_other", connector: "" })).env).toEqual({});
    const { secrets } = await fleet.tenant.workspaces.listSecrets({ workspace: "default" }, member);
    expect(secrets.map(({ name }) => name)).toEqual(["SERVICE_KEY"]);
    const everywhere = [
      secrets,
      await store.sql`SELECT encode(sealed, 'escape') AS text FROM workspace_secrets`,
      await store.sql`SELECT * FROM audit`,
    ];
    expect(JSON.stringify(everywhere)).not.toContain("second value");
    await fleet.tenant.workspaces.removeSecret({ workspace: "default", name: "SERVICE_KEY" }, owner);
    expect((await source({ workspaceId: fleet.defaultWorkspaceId, connector: "" })).env).toEqual({});
  });

  test("a sealed value that was copied to another name or workspace does not open there", async () => {
    const { store, secretBox } = fleet.tenant;
    await put("MOVED", "value");
    await store.sql`UPDATE workspace_secrets SET name = 'ELSEWHERE' WHERE name = 'MOVED'`;
    const source = createSecretSource({ store, secretBox });
    expect((await refusal(source({ workspaceId: fleet.defaultWorkspaceId, connector: "" }))).code).toBe("data_loss");
    await store.sql`DELETE FROM workspace_secrets`;
  });

  test("are set by owners, under names that are free to choose", async () => {
    for (const call of [member, viewer]) expect((await refusal(put("KEY", "v", call))).code).toBe("permission_denied");
    for (const name of ["PATH", "NODE_OPTIONS", "LD_PRELOAD", "YAO_TOKEN", "GIT_SSH_COMMAND"]) {
      expect([name, (await refusal(put(name, "v"))).code]).toEqual([name, "invalid_argument"]);
    }
    const gone = fleet.tenant.workspaces.removeSecret({ workspace: "default", name: "GONE" }, owner);
    expect((await refusal(gone)).code).toBe("not_found");
  });
});

test("uploads of many at once stay within the megabytes a workspace allows itself", async () => {
  const { store, access, ids } = fleet.tenant;
  const nothing = (): void => undefined;
  const documents = createDocumentApi({ store, access, ids, uploaded: nothing, recorded: nothing } as never);
  await update({ settings: settings({ max_storage_mb: 3 }) });
  const bytes = Buffer.alloc(1024 * 1024, "x");
  const put = (n: number) => documents.createUpload({ workspace: "default", name: `${n}.txt`, bytes }, member);
  const results = await Promise.all(Array.from({ length: 6 }, (_, n) => refusal(put(n))));
  expect(results.filter(({ code }) => code === "ok")).toHaveLength(3);
  expect(results.find(({ code }) => code !== "ok")).toMatchObject({
    code: "resource_exhausted",
    message: expect.stringContaining("at most 3 MB"),
  });
  await update({ settings: settings({}) });
  expect((await refusal(put(7))).code).toBe("ok");
});
