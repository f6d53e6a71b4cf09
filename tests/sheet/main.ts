/**
 * The robustness sheet: every wire fixture against ours and against each rival that is installed, over real connections.
 * Prints one line per fixture and a total per library; fails when ours fails. Rivals are looked for in tests/bench/loop, or
 * in the directory given as the first argument.
 */

import { WIRE_PROTOCOLS, type WireCase, wireCases } from "@mesh/llm/testing";

import { type SheetClient, type Verdict, wrongs } from "./client.ts";
import { startFixtureServer } from "./fixture-server.ts";
import { ourClient } from "./our-client.ts";
import { rivalClients } from "./rival-client.ts";

const WIDTH = 20;

async function main(): Promise<void> {
  const cases = WIRE_PROTOCOLS.flatMap((protocol) => wireCases(protocol));
  const clients = [ourClient(), ...(await rivalClients(process.argv[2]))];
  const failed = new Map<string, number>();
  const tried = new Map<string, number>();
  const reasons: string[] = [];
  const server = await startFixtureServer(cases);
  console.log(`${"fixture".padEnd(58)}${clients.map((client) => client.name.padEnd(WIDTH)).join("")}`);
  for (const wire of cases) {
    const cells: string[] = [];
    for (const [index, client] of clients.entries()) {
      if (!client.protocols.includes(wire.protocol)) {
        cells.push("-");
        continue;
      }
      const id = `c${index}`;
      const found = wrongs(
        wire,
        await verdictOf(client, wire, server.baseUrl(id, wire), () => server.requests(id, wire)),
      );
      tried.set(client.name, (tried.get(client.name) ?? 0) + 1);
      if (found.length > 0) {
        failed.set(client.name, (failed.get(client.name) ?? 0) + 1);
        reasons.push(`${client.name}: ${wire.protocol}/${wire.name} (${wire.title}): ${found.join("; ")}`);
      }
      cells.push(found.length === 0 ? "pass" : "FAIL");
    }
    console.log(`${`${wire.protocol}/${wire.name}`.padEnd(58)}${cells.map((cell) => cell.padEnd(WIDTH)).join("")}`);
  }
  console.log(`\n${reasons.join("\n")}\n`);
  for (const { name } of clients) {
    console.log(`${name}: ${(tried.get(name) ?? 0) - (failed.get(name) ?? 0)} of ${tried.get(name) ?? 0} pass`);
  }
  if ((failed.get("ours") ?? 0) > 0) process.exitCode = 1;
  await server.close();
}

async function verdictOf(
  client: SheetClient,
  wire: WireCase,
  baseUrl: string,
  requests: () => number,
): Promise<Verdict> {
  try {
    return await client.run(wire, baseUrl, requests);
  } catch (error) {
    return {
      kind: "error",
      text: "",
      calls: [],
      problems: [`crashed: ${error instanceof Error ? error.message : String(error)}`],
    };
  }
}

await main();
