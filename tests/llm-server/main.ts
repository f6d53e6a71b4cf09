/**
 * The scripted model server as a process: prints its URL and serves until it is told to stop.
 *
 *   tsx tests/llm-server/main.ts --port 0 [--key KEY] [--script FILE]
 *
 * FILE is JSON: {"default": Reply, "models": {"name": Reply}}.
 */

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { startLlmServer } from "./llm-server.ts";
import type { Reply } from "./script.ts";

interface ScriptFile {
  readonly default?: Reply;
  readonly models?: Readonly<Record<string, Reply>>;
}

const { values } = parseArgs({
  options: { port: { type: "string", default: "0" }, key: { type: "string" }, script: { type: "string" } },
});

const file: ScriptFile =
  values.script === undefined ? {} : (JSON.parse(readFileSync(values.script, "utf8")) as ScriptFile);
const server = await startLlmServer({
  port: Number(values.port),
  models: Object.keys(file.models ?? { scripted: {} }),
  ...(values.key === undefined ? {} : { key: values.key }),
});
for (const [model, reply] of Object.entries(file.models ?? {})) server.on(model, reply);
if (file.default !== undefined) server.default(file.default);
console.log(server.url);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void server.stop());
}
