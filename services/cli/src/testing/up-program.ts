/** Small real processes in place of the coordinator and the node agent: they keep the contract of `yao up` and write down what happens. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { type NodeProgram, programOf } from "../up/program.ts";

const COMMON = `
import { appendFileSync } from "node:fs";
const note = (line) => appendFileSync(process.env.TEST_JOURNAL, line + " " + process.pid + "\\n");
const end = (why) => { note(process.argv[1].includes("node-agent") ? "node " + why : "coordinator " + why); process.exit(0); };
process.on("SIGTERM", () => end("stopped"));
process.on("disconnect", () => end("orphaned"));
process.on("SIGINT", () => note("interrupted"));
`;

const COORDINATOR = `${COMMON}
import { createServer } from "node:http";
if (process.env.TEST_REFUSE) { console.error(process.env.TEST_REFUSE); process.exit(1); }
const server = createServer((request, response) => {
  note("request " + request.method + " " + request.url);
  const token = request.headers.authorization;
  response.setHeader("content-type", "application/json");
  if (request.url === "/v1/node-tokens") response.end(JSON.stringify({ token: "yj_1", expires_at: "", command: "" }));
  else if (request.url === "/v1/whoami") response.end(JSON.stringify({ user: token }));
  else response.end(JSON.stringify({ apps: [{ name: "x" }], nodes: [] }));
});
server.listen(Number(process.env.YAO_HTTP_PORT), process.env.YAO_HOST, () => {
  note("coordinator started");
  note("env " + JSON.stringify(Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith("YAO_")))));
  process.send({ kind: "ready", httpUrl: "", grpcAddress: "127.0.0.1:" + process.env.YAO_GRPC_PORT, adminToken: process.env.TEST_TOKEN });
});
`;

const NODE = `${COMMON}
note("node started");
process.send({ kind: "ready", nodeId: "node_1", name: "testbox" });
setInterval(() => undefined, 1000);
`;

/** Writes both programs into `directory`. */
export function writeUpPrograms(directory: string): { readonly coordinator: NodeProgram; readonly node: NodeProgram } {
  mkdirSync(directory, { recursive: true });
  const write = (name: string, text: string): NodeProgram => {
    const path = join(directory, name);
    writeFileSync(path, text);
    return programOf(path);
  };
  return { coordinator: write("coordinator.mjs", COORDINATOR), node: write("node-agent.mjs", NODE) };
}
