/** `npm run conformance -w services/mcp`: runs the official suite and writes docs/mcp-conformance.md. */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { conformanceVersion, runClientSuite, runServerSuite, type ScenarioResult } from "./conformance-suite.ts";

const PATH = join(import.meta.dirname, "../../../../docs/mcp-conformance.md");

function table(results: readonly ScenarioResult[]): string {
  const rows = results.map(({ scenario, passed, failed, warnings, faults }) => {
    const verdict = failed > 0 ? "**fails**" : warnings > 0 ? "passes with warnings" : "passes";
    return `| \`${scenario}\` | ${verdict} | ${passed} | ${failed} | ${faults.join("; ").replaceAll("|", "\\|")} |`;
  });
  return ["| Scenario | Verdict | Checks passed | Failed | Remarks |", "| --- | --- | --- | --- | --- |", ...rows].join(
    "\n",
  );
}

const server = await runServerSuite();
const client = await runClientSuite();
const passing = (results: readonly ScenarioResult[]): string =>
  `${results.filter(({ failed }) => failed === 0).length} of ${results.length} scenarios pass`;
const text = `# MCP conformance

Results of the official suite, \`@modelcontextprotocol/conformance\` ${await conformanceVersion}, against this repository's MCP server and
client over Streamable HTTP. \`npm run conformance -w services/mcp\` runs it and writes this page; a test keeps what passes passing.

## Server

${passing(server)} (suite \`all\`, server with resumable sessions).

${table(server)}

The warnings of \`server-sse-polling\`: the suite makes that request with protocol version 2025-03-26, whose clients could not take the events it
then looks for; clients of 2025-11-25 and later get them.

## Client

${passing(client)}. The suite's other client scenarios are about OAuth: our client sends the token its configuration names and starts no
authorization of its own. Elicitation is refused on purpose: a server's question has no person to answer it inside a run.

${table(client)}
`;
// What the gateway shows is measured elsewhere and stands at the end.
const before = await readFile(PATH, "utf8").catch(() => "");
const gateway = before.slice(Math.max(0, before.indexOf("\n## Gateway")));
await writeFile(PATH, before.includes("\n## Gateway") ? text + gateway : text);
console.log(`server: ${passing(server)}; client: ${passing(client)}; written to docs/mcp-conformance.md`);
