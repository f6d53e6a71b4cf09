/** The coordinator process. Ends with 0 after a clean stop, 1 with one line that says what to set. */

import { errorText, RunGroup, isEntry } from "@mesh/kernel";
import { createLogger } from "@mesh/observability";

import { readConfig } from "./config.ts";
import { createContext } from "./context.ts";

/** Last resort when something holds the stop up. */
const FORCED_EXIT_MS = 20_000;

async function main(): Promise<number> {
  const config = readConfig(process.env);
  const log = createLogger({ name: "coordinator", level: config.logLevel });
  const stop = new AbortController();
  const requestStop = (): void => {
    if (stop.signal.aborted) return;
    stop.abort();
    setTimeout(() => process.exit(1), FORCED_EXIT_MS).unref();
  };
  process.on("SIGTERM", requestStop);
  process.on("SIGINT", requestStop);
  // The supervisor is gone: nobody could stop this process later.
  process.on("disconnect", requestStop);

  const context = await createContext(config, log, stop.signal);
  try {
    const group = new RunGroup();
    for (const service of context.services) group.add(service);
    const running = group.run(stop.signal);
    const ready = context.start().then((started) => {
      log.info({ httpUrl: started.httpUrl, grpcAddress: started.grpcAddress }, "coordinator ready");
      process.send?.({ kind: "ready", ...started });
      if (process.send === undefined && started.adminToken !== undefined) {
        process.stdout.write(`admin token (shown this once): ${started.adminToken}\n`);
        process.stdout.write(`Open  ${started.loginUrl ?? started.httpUrl}\n`);
      }
    });
    await Promise.all([running, ready.catch((error: unknown) => Promise.reject(error))]);
    return 0;
  } finally {
    await context.close();
  }
}

if (isEntry(import.meta.filename)) {
  try {
    process.exitCode = await main();
  } catch (error) {
    process.stderr.write(`yao coordinator: ${errorText(error)}\n`);
    process.exitCode = 1;
  }
  // Pools and sockets are closed; whatever is left must not keep a stopped process alive.
  process.exit();
}
