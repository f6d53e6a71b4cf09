/** A process that owns a system with real servers and the small programs of {@link writeUpPrograms}; says `ready`, stops on SIGTERM. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { systemClock } from "@mesh/kernel";

import type { NodeProgram } from "../up/program.ts";
import { startUp } from "../up/up.ts";

const programs = JSON.parse(process.env["TEST_PROGRAMS"] ?? "") as { coordinator: NodeProgram; node: NodeProgram };

const system = await startUp({
  dataDir: process.env["TEST_DATA"] ?? "",
  host: "127.0.0.1",
  httpPort: Number(process.env["TEST_PORT"]),
  grpcPort: 0,
  natsPort: 0,
  hasNode: true,
  clock: systemClock,
  env: process.env,
  say: (line) => console.log(line),
  programs: {
    ...programs,
    join: ({ url, dataDir }) => {
      mkdirSync(dataDir, { recursive: true });
      writeFileSync(join(dataDir, "node.json"), JSON.stringify({ url }));
      return Promise.resolve();
    },
  },
});
console.log(`ready at ${system.url}`);
process.once("SIGTERM", () => void system.stop());
await system.ended;
