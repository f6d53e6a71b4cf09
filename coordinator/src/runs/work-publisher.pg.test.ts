import { until } from "@mesh/kernel";
import { expect, test } from "vitest";

import { startRunCore } from "./testing/run-core.ts";

test("a device asks for secrets when the workspace has variables and nothing else to seal", async () => {
  await using core = await startRunCore();
  const node = await core.addNode("a");
  await core.dispatcher.create(core.draft());
  await until(() => node.work.length === 1);
  await core.store.sql`
    INSERT INTO workspace_secrets (workspace_id, name, sealed, updated_by) VALUES (${core.workspaceId}, 'KEY', ''::bytea, 'x')`;
  await core.dispatcher.create(core.draft());
  const work = await until(() => (node.work.length === 2 ? node.work : undefined));
  const items = work.toSorted((a, b) => (a.run_id < b.run_id ? -1 : 1));
  expect(items.map((item) => [item.needs_secrets, item.connectors_json])).toEqual([
    [false, "{}"],
    [true, "{}"],
  ]);
});
