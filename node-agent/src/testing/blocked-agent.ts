/** An agent whose main thread stops turning when its parent says so. */

import { silentLog } from "../log.ts";
import { runNodeAgent } from "../main.ts";

process.on("message", (message: { readonly blockMs: number }) => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, message.blockMs);
});
await runNodeAgent({
  dataDir: process.env["YAO_NODE_DATA"] ?? "",
  log: silentLog,
  onReady: () => process.send?.({ kind: "ready" }),
});
