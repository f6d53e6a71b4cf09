import { MeshError, systemClock } from "@mesh/kernel";
import { sequentialIds, startStopStress } from "@mesh/kernel/testing";
import { createMetrics, silentLogger } from "@mesh/observability";
import { test } from "vitest";

import { createGateway } from "./gateway.ts";
import { scriptedApi } from "./testing/scripted-api.ts";

test("the gateway starts and stops cleanly at any moment", { timeout: 60_000 }, async () => {
  await startStopStress(() =>
    createGateway({
      config: { host: "127.0.0.1", httpPort: 0, grpcPort: 0, version: "0", graceMs: 100 },
      api: scriptedApi().api,
      contents: { open: () => Promise.reject(new MeshError("not_found", "none")) },
      authenticator: { authenticate: () => Promise.reject(new MeshError("unauthenticated", "no")) },
      log: silentLogger,
      metrics: createMetrics({ processMetrics: false }),
      natsWebsocket: { host: "127.0.0.1", port: 1 },
      ready: () => ({ ok: true, reasons: [] }),
      clock: systemClock,
      ids: sequentialIds(),
    }),
  );
});
