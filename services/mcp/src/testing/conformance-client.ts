/** The program the conformance suite starts as "the client": does with our client what each scenario asks for. */

import { systemClock } from "@mesh/kernel";

import { McpClients } from "../clients.ts";

const url = process.argv[2];
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"];
const clients = new McpClients<string>({
  clock: systemClock,
  callProcess: () => Promise.resolve(null),
  env: process.env,
  fetch,
  clientInfo: { name: "yao-mesh", version: "1.0.0" },
});
const client = clients.get({ id: "conformance", transport: "http", url });
const options = { caller: "conformance" };

try {
  const { tools } = await client.list("tools", options);
  if (scenario !== "initialize") {
    for (const { name } of tools) {
      await client.callToolRaw(name, name === "add_numbers" ? { a: 5, b: 3 } : {}, options);
    }
  }
} finally {
  await clients.close();
}
