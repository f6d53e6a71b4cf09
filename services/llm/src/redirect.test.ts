/** A server that sends requests elsewhere, reached by the platform's own fetch. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { systemClock } from "@mesh/kernel";
import { afterAll, beforeAll, expect, test } from "vitest";

import { createProviders } from "./providers.ts";
import { streamWithRetry } from "./stream-with-retry.ts";
import { callOf, said } from "./testing/index.ts";

const heard: string[] = [];
const server = createServer((request, response) => {
  heard.push(`${request.method} ${request.url}`);
  const status = Number(/^\/(\d+)\//.exec(request.url ?? "")?.[1] ?? 200);
  request.resume().on("end", () => response.writeHead(status, { location: "/elsewhere" }).end());
});

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test.each([301, 302, 303, 307, 308])("a redirect (%i) is not followed, and the error tells of it", async (status) => {
  heard.length = 0;
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${status}/v1`;
  const message = await streamWithRetry(
    {
      provider: createProviders({ clock: systemClock }).resolve("openai-completions"),
      config: callOf({ api: "openai-completions", baseUrl }, [said("Hi")], { apiKey: "secret" }),
      sink: () => undefined,
      signal: new AbortController().signal,
    },
    { clock: systemClock, random: () => 0.5 },
  );
  expect(message).toMatchObject({ stopReason: "error", errorClass: "notFound" });
  expect(message.errorMessage).toContain(`redirects elsewhere (HTTP ${status})`);
  // Asked once more, for the status that a refused redirect does not tell; never at the other place.
  expect(heard).toEqual(Array(2).fill(`POST /${status}/v1/chat/completions`));
});
