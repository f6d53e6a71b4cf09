/** Serves one client over a pair of streams. */

import type { Readable, Writable } from "node:stream";

import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";

import { protocolServer } from "./protocol-server.ts";
import type { McpServerDefinition } from "./server-definition.ts";

/** Where messages come from and go to, one JSON text a line. */
export interface StdioStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/** Serves until the input ends or the signal aborts; requests that are still open then are cancelled. */
export async function serveStdio<Caller>(
  definition: McpServerDefinition<Caller>,
  streams: StdioStreams,
  caller: Caller,
  signal: AbortSignal,
): Promise<void> {
  const { input, output } = streams;
  const server = protocolServer(definition, () => caller);
  const transport = new StdioServerTransport(input, output);
  const ended = new Promise<void>((resolve) => {
    const end = (): void => resolve();
    if (signal.aborted) end();
    signal.addEventListener("abort", end, { once: true });
    for (const event of ["end", "close", "error"]) input.once(event, end);
    // A client that has gone is seen as a broken pipe here, and must not end the process.
    for (const event of ["close", "error"]) output.on(event, end);
    // It closes itself when a message has no end.
    Object.assign(transport, { onclose: end });
  });
  await server.connect(transport);
  await ended;
  await server.close();
}
