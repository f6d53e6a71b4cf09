/**
 * The robustness sheet: every wire fixture and every scenario against ours and against each rival that is installed, over
 * real connections. Prints one line per row and a total per library; fails when ours fails. Rivals are looked for in
 * tests/bench/loop, or in the directory given as the first argument.
 */

import { WIRE_PROTOCOLS, type WireCase, wireCases } from "@mesh/llm/testing";

import { type SheetClient, type Verdict, wrongs } from "./client.ts";
import { startFixtureServer } from "./fixture-server.ts";
import { ourClient } from "./our-client.ts";
import { rivalClients } from "./rival-client.ts";
import { ourLibrary } from "./scenario/our-library.ts";
import { canPlay, playScenario, SCENARIOS } from "./scenario/play.ts";
import { rivalLibraries } from "./scenario/rival-library.ts";
import type { Library } from "./scenario/scenario.ts";
import { type Cell, Score } from "./score.ts";

async function main(): Promise<void> {
  const score = new Score();
  await fixtures(score, [ourClient(), ...(await rivalClients(process.argv[2]))]);
  console.log("");
  await scenarios(score, [ourLibrary, ...(await rivalLibraries(process.argv[2]))]);
  const hasPassed = score.finish();
  // A tool of a rival may still run, or wait for ever: nothing here is left to wait for.
  process.exit(hasPassed("ours") ? 0 : 1);
}

async function fixtures(score: Score, clients: readonly SheetClient[]): Promise<void> {
  const cases = WIRE_PROTOCOLS.flatMap((protocol) => wireCases(protocol));
  const server = await startFixtureServer(cases);
  score.head(
    "fixture",
    clients.map((client) => client.name),
  );
  for (const wire of cases) {
    const cells = new Map<string, Cell>();
    for (const [index, client] of clients.entries()) {
      const id = `c${index}`;
      const isMeant = client.protocols.includes(wire.protocol);
      const verdict = isMeant
        ? await verdictOf(client, wire, server.baseUrl(id, wire), () => server.requests(id, wire))
        : undefined;
      cells.set(client.name, verdict === undefined ? undefined : wrongs(wire, verdict));
    }
    score.row(`${wire.protocol}/${wire.name}`, wire.title, cells);
  }
  await server.close();
}

async function scenarios(score: Score, libraries: readonly Library[]): Promise<void> {
  score.head(
    "scenario",
    libraries.map((library) => library.name),
  );
  for (const scenario of SCENARIOS) {
    const cells = new Map<string, Cell>();
    for (const library of libraries) {
      cells.set(library.name, canPlay(library, scenario) ? await playScenario(library, scenario) : undefined);
    }
    score.row(`#${scenario.row} ${scenario.name}`, scenario.title, cells);
  }
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
