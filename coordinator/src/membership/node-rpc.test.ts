import { memoryBus } from "@mesh/bus/testing";
import { MeshError, until } from "@mesh/kernel";
import { BundleChunkRequest } from "@mesh/proto";
import type { Store } from "@mesh/store";
import { subjects } from "@mesh/bus";
import { expect, test } from "vitest";

import { createNodeRpc } from "./node-rpc.ts";

async function askWhile(failure: Error): Promise<MeshError> {
  const bus = memoryBus().connect();
  const fails = (): never => {
    throw failure;
  };
  const rpc = createNodeRpc({
    bus,
    // Every statement fails, as while the database is away.
    store: { sql: fails } as unknown as Store,
    secrets: fails,
    prepareNode: fails,
    fleetChanged: () => undefined,
  });
  const stop = new AbortController();
  const running = rpc.run(stop.signal);
  const ask = (): Promise<Error | undefined> =>
    bus
      .request(subjects.rpc("a".repeat(20), "bundle"), BundleChunkRequest.encode({ digest: "d", offset: 0 }).finish(), {
        timeoutMs: 2000,
      })
      .then(() => undefined)
      .catch((error: unknown) => error as Error);
  const error = await until(ask);
  stop.abort();
  await running;
  return MeshError.from(error);
}

test("a node that asks while the database is away is told to ask again, so that its run does not fail", async () => {
  const gone = Object.assign(new Error("terminating connection due to administrator command"), { code: "57P01" });
  const { code, message } = await askWhile(gone);
  expect([code, message]).toEqual(["unavailable", "the coordinator cannot reach its database; ask again"]);
});

test("an error of the coordinator itself stays one, without its text", async () => {
  const { code, message } = await askWhile(new TypeError("x is not a function"));
  expect(code).toBe("internal");
  expect(message).not.toContain("x is not");
});
