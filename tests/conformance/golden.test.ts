/**
 * What the gateway says on the wire, kept as files: a change of a form that clients read is seen in a diff. The official client reads
 * each of them back. After a wanted change: `npx vitest run --project e2e tests/conformance/golden.test.ts -u`.
 */

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

import { demoAppDirectory } from "@mesh/assistants";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { TestMesh } from "../harness/test-mesh.ts";

const FOLDER = join(import.meta.dirname, "golden");
const user = (content: string): object => ({ model: "hello", messages: [{ role: "user", content }] });
const TOOLS = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } }];
const CALL = '/tool weather {"city":"Bern"}';
const FAIL = "/fail invalid_argument no such thing";

/** Name of the file, status, and the request. */
const COMPLETIONS: readonly (readonly [name: string, status: number, body: object])[] = [
  ["text", 200, user("/echo a badger")],
  ["text-stream", 200, { ...user("/echo a badger"), stream: true }],
  ["text-stream-usage", 200, { ...user("/echo a badger"), stream: true, stream_options: { include_usage: true } }],
  ["thinking", 200, user("/think deep")],
  ["tool", 200, { ...user(CALL), tools: TOOLS }],
  ["tool-stream", 200, { ...user(CALL), tools: TOOLS, stream: true }],
  ["no-model", 404, { ...user("x"), model: "nobody" }],
  ["no-messages", 400, { model: "hello", messages: [] }],
  ["failure", 400, user(FAIL)],
];

let mesh: TestMesh;

beforeAll(async () => {
  mesh = await TestMesh.start({ nodes: [{ name: "alpha" }] });
  await mesh.pushApp("demo", demoAppDirectory);
});

afterAll(() => mesh?.stop());

/** What differs from run to run, in a form that does not. */
function steady(text: string): string {
  return text
    .replaceAll(/\b(run|req|call|node|ws|user|app|conn)_[0-9a-z]{8,}\b/g, "$1_0")
    .replaceAll(/local_[0-9a-f]{20}/g, "local_0")
    .replaceAll(/\(\d of 4 slots free\)/g, "(4 of 4 slots free)")
    .replaceAll(/chatcmpl-[0-9a-z]{26}/g, "chatcmpl-0")
    .replaceAll(/"created": ?\d+/g, '"created":0')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/g, "2000-01-01T00:00:00.000Z")
    .replaceAll(/"(timestamp|\w+_ms|epoch|priority)": ?[\d.]+/g, '"$1":0');
}

/** The events of a stream, a line each; neighbouring pieces of one text are one, for time decides where it is cut. */
function linesOf(stream: string): string {
  const lines: string[] = [];
  for (const line of stream.split("\n").filter((each) => each.startsWith("data: "))) {
    const piece = /"delta":\{"content":"((?:[^"\\]|\\.)+)"\}/;
    const [found, before] = [piece.exec(line), piece.exec(lines.at(-1) ?? "")];
    if (found === null || before === null) lines.push(line);
    else lines[lines.length - 1] = line.replace(found[1] ?? "", `${before[1]}${found[1]}`);
  }
  return `${lines.join("\n\n")}\n\n`;
}

describe("completions", () => {
  test.each(COMPLETIONS)("%s", async (name, status, body) => {
    const response = await fetch(`${mesh.api.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${mesh.api.token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    const isStream = (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
    expect([response.status, isStream]).toEqual([status, name.endsWith("-stream") || name.endsWith("-usage")]);
    const kept = isStream ? linesOf(text) : `${JSON.stringify(JSON.parse(text), undefined, 2)}\n`;
    await expect(steady(kept)).toMatchFileSnapshot(join(FOLDER, `${name}.txt`));
  });

  test("are read back by the official client", async () => {
    const stored = async (name: string): Promise<OpenAI.ChatCompletion> => {
      const [, status, body] = COMPLETIONS.find(([each]) => each === name) ?? ["", 0, {}];
      const isStream = "stream" in body;
      const kept = readFileSync(join(FOLDER, `${name}.txt`));
      const server = createServer((_request, response) => {
        response.writeHead(status, { "content-type": isStream ? "text/event-stream" : "application/json" });
        response.end(kept);
      });
      await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
      const { port } = server.address() as AddressInfo;
      try {
        const client = new OpenAI({ baseURL: `http://127.0.0.1:${port}`, apiKey: "k", maxRetries: 0 });
        const request = body as OpenAI.ChatCompletionCreateParamsNonStreaming;
        if (!isStream) return await client.chat.completions.create(request);
        return await client.chat.completions.stream({ ...request, stream: true }).finalChatCompletion();
      } finally {
        server.closeAllConnections();
        await new Promise((closed) => server.close(closed));
      }
    };
    for (const name of ["text", "text-stream", "text-stream-usage"]) {
      const { choices, usage } = await stored(name);
      expect(choices[0]).toMatchObject({ message: { content: "a badger" }, finish_reason: "stop" });
      expect(name === "text-stream" ? 1 : usage?.total_tokens).toBeGreaterThan(0);
    }
    for (const name of ["tool", "tool-stream"]) {
      const { choices } = await stored(name);
      const tool_calls = [{ type: "function", function: { name: "weather", arguments: '{"city":"Bern"}' } }];
      expect(choices[0]).toMatchObject({ message: { tool_calls }, finish_reason: "tool_calls" });
    }
    await expect(stored("no-model")).rejects.toThrow(OpenAI.NotFoundError);
    await expect(stored("no-messages")).rejects.toThrow(OpenAI.BadRequestError);
    await expect(stored("failure")).rejects.toThrow("no such thing");
  });
});

test("the events of a run", async () => {
  const { id } = await mesh.createRun({ assistant: "hello", input: "/echo badger" });
  await mesh.ended(id);
  const response = await fetch(`${mesh.api.url}/v1/runs/${id}/events`, {
    headers: { authorization: `Bearer ${mesh.api.token}`, accept: "text/event-stream", "last-event-id": "0" },
  });
  const text = (await response.text()).replaceAll(/^(?::.*|retry: .*)\n+/gm, "");
  await expect(steady(text)).toMatchFileSnapshot(join(FOLDER, "run-events.txt"));
});
