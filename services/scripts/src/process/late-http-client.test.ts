import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { systemClock } from "@mesh/kernel";
import { expect, test } from "vitest";

import { LateHttpClient } from "./late-http-client.ts";

const { signal } = new AbortController();

test("requests are sent, streamed and refused as by the client itself", async () => {
  const server = createServer((_request, response) => response.end("one\ntwo\n"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  try {
    await using client = new LateHttpClient({ clock: systemClock, allowUrl: ({ port }) => port !== "1" });
    expect(await client.send({ method: "GET", url }, signal)).toMatchObject({ status: 200, data: "one\ntwo\n" });
    const lines: string[] = [];
    await client.stream({ method: "GET", url }, (line) => lines.push(line) > 0, signal);
    expect(lines.filter((line) => line !== "")).toEqual(["one", "two"]);
    await expect(client.send({ method: "GET", url: "http://127.0.0.1:1/" }, signal)).rejects.toMatchObject({
      code: "permission_denied",
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("a client that never sent anything is closed", async () => {
  await expect(new LateHttpClient({ clock: systemClock })[Symbol.asyncDispose]()).resolves.toBeUndefined();
});
