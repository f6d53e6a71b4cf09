import { bundleApp } from "@mesh/assistants";
import { until } from "@mesh/kernel";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { refusal, startTenant, type Tenant } from "../auth/testing/tenant.ts";
import type { Call } from "../gateway/operation.ts";
import { createSystemApi } from "../system/system-api.ts";

let tenant: Tenant;
let admin: Call;

beforeAll(async () => {
  tenant = await startTenant();
  admin = tenant.as(tenant.admin);
});

afterAll(async () => {
  await tenant[Symbol.asyncDispose]();
});

describe("workspaces", () => {
  test("are made with an owner, listed by name, and a name is taken once", async () => {
    const { workspace } = await tenant.workspaces.createWorkspace({ name: "alpha" }, admin);
    expect(workspace).toMatchObject({ name: "alpha", is_default: false });
    expect(await tenant.workspaces.listMembers({ workspace: "alpha" }, admin)).toEqual({
      members: [{ user: "admin", role: "owner" }],
    });
    expect((await tenant.workspaces.listWorkspaces({}, admin)).workspaces.map(({ name }) => name)).toEqual([
      "alpha",
      "default",
    ]);
    expect(await refusal(tenant.workspaces.createWorkspace({ name: "alpha" }, admin))).toMatchObject({
      code: "already_exists",
    });
  });

  test("are deleted when empty, else only with force; the default one stays", async () => {
    await tenant.workspaces.createWorkspace({ name: "full" }, admin);
    const bundle = Buffer.from(bundleApp(new Map([["assistants/x/package.yao", Buffer.from('{"name":"X"}')]])).bytes);
    await tenant.apps.pushApp({ workspace: "full", app: "x", bundle, reset_models: false }, admin);
    await insertRun(tenant, "full", "running");
    const refused = await refusal(tenant.workspaces.deleteWorkspace({ workspace: "full", force: false }, admin));
    expect(refused.code).toBe("failed_precondition");
    expect(refused.message).toContain("holds 1 active run, 1 app;");
    await tenant.workspaces.deleteWorkspace({ workspace: "full", force: true }, admin);
    expect(await refusal(tenant.workspaces.getWorkspace({ workspace: "full" }, admin))).toMatchObject({
      code: "not_found",
    });
    expect(
      await refusal(tenant.workspaces.deleteWorkspace({ workspace: "default", force: true }, admin)),
    ).toMatchObject({
      code: "failed_precondition",
    });
  });

  test("keep an owner", async () => {
    await tenant.workspaces.createWorkspace({ name: "owned" }, admin);
    await tenant.user("bea", ["runs"]);
    const workspace = "owned";
    for (const change of [
      () => tenant.workspaces.removeMember({ workspace, user: "admin" }, admin),
      () => tenant.workspaces.putMember({ workspace, user: "admin", role: "viewer" }, admin),
    ]) {
      expect(await refusal(change())).toMatchObject({
        code: "failed_precondition",
        message: expect.stringContaining("no owner"),
      });
    }
    await tenant.workspaces.putMember({ workspace, user: "bea", role: "owner" }, admin);
    await tenant.workspaces.removeMember({ workspace, user: "admin" }, admin);
    expect(await tenant.workspaces.listMembers({ workspace }, admin)).toEqual({
      members: [{ user: "bea", role: "owner" }],
    });
    expect(
      await refusal(tenant.workspaces.putMember({ workspace, user: "nobody", role: "member" }, admin)),
    ).toMatchObject({
      code: "not_found",
      message: expect.stringContaining("yao token create --user nobody"),
    });
  });

  test("only owners change who belongs to them", async () => {
    await tenant.workspaces.createWorkspace({ name: "closed" }, admin);
    const mel = await tenant.user("mel", ["workspaces"], { workspace: "closed", role: "member" });
    const change = tenant.workspaces.putMember({ workspace: "closed", user: "mel", role: "owner" }, tenant.as(mel));
    expect(await refusal(change)).toMatchObject({ code: "permission_denied" });
  });
});

describe("the system", () => {
  test("keeps an audit row of each change, newest first, in pages", async () => {
    const system = createSystemApi({
      store: tenant.store,
      offlineAfterMs: 15_000,
      replica: {
        id: "r1",
        version: "1.0.0",
        startedAtMs: 0,
        isLeader: () => true,
        isDraining: () => false,
        natsVersion: () => "2.9.10",
      },
    });
    await tenant.workspaces.createWorkspace({ name: "audited" }, admin);
    const first = await system.listAudit({ limit: 1, cursor: "" }, admin);
    expect(first.entries[0]).toMatchObject({
      actor: "user:admin",
      action: "workspace.create",
      detail_json: '{"name": "audited"}'.replace(": ", ":"),
    });
    const second = await system.listAudit({ limit: 1, cursor: first.next_cursor }, admin);
    expect((second.entries[0]?.id ?? "") < (first.entries[0]?.id ?? "")).toBe(true);
    const status = await system.getStatus({}, admin);
    expect(status).toMatchObject({ status: "serving", is_leader: true, nodes_online: 0, nats_version: "2.9.10" });
    expect(status.postgres_version).toMatch(/^1\d/);
  });
});

test("a workspace is deleted beside a step of an eval that adds to it, and neither waits for the other for ever", async () => {
  const { store, ids } = tenant;
  await tenant.workspaces.createWorkspace({ name: "busy" }, admin);
  const evalId = ids.next("eval");
  await store.sql`INSERT INTO bundles (digest, bytes, size_bytes) VALUES ('busy', '', 0)`;
  await store.sql`
    INSERT INTO evals (id, workspace_id, name, assistant_id, bundle_digest, nonce, placement, settings, state, created_by)
    SELECT ${evalId}, id, 'e', 'hello', 'busy', 'n', '{}', '{}', 'running', 'user:admin' FROM workspaces WHERE name = 'busy'`;
  let deleting: Promise<unknown> = Promise.resolve();
  await store.sql.begin(async (tx) => {
    await tx`SELECT 1 FROM evals WHERE id = ${evalId} FOR UPDATE`;
    deleting = tenant.workspaces.deleteWorkspace({ workspace: "busy", force: true }, admin);
    const isWaiting = async (): Promise<boolean> => {
      const rows =
        await store.sql`SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
      return rows.length > 0;
    };
    await until(isWaiting, { what: "the deletion to wait" });
    await tx`INSERT INTO eval_bundles (workspace_id, digest) SELECT id, 'busy' FROM workspaces WHERE name = 'busy'`;
  });
  await deleting;
  expect(await store.sql`SELECT 1 FROM evals WHERE id = ${evalId}`).toHaveLength(0);
});

async function insertRun({ store, ids }: Tenant, workspace: string, state: string): Promise<void> {
  await store.sql`
    INSERT INTO runs (id, workspace_id, assistant_id, app_id, app_name, app_version, bundle_digest, input, queue_key, state,
      timeout_ms, queue_until, created_by)
    SELECT ${ids.next("run")}, w.id, 'x', a.id, a.name, 1, a.digest, '', '', ${state}, 1000, now(), 'user:admin'
    FROM workspaces w JOIN apps a ON a.workspace_id = w.id WHERE w.name = ${workspace}`;
}
