/** Connections that are cut anywhere: what a client puts together from its pieces is the log, over every transport. */

import { demoAppDirectory } from "@mesh/assistants";
import { until } from "@mesh/kernel";
import { EventSourceParserStream } from "eventsource-parser/stream";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";

import type { SeenEvent } from "../harness/api-client.ts";
import { TestMesh } from "../harness/test-mesh.ts";
import { ReflectedClient } from "./reflected-client.ts";

const CUTS = 6;
let mesh: TestMesh;

beforeAll(async () => {
  mesh = await TestMesh.start({ nodes: [{ name: "alpha", slots: 8 }] });
  await mesh.pushApp("demo", demoAppDirectory);
});

afterAll(() => mesh?.stop());

/** What a reader got before it had enough; `isOver` when the server said that nothing follows. */
interface Piece {
  readonly events: readonly SeenEvent[];
  readonly isOver: boolean;
}

/** Reads on from a cursor and goes away after so many events. */
type Reader = (runId: string, afterSeq: number, most: number) => Promise<Piece>;

const bySse: Reader = async (runId, afterSeq, most) => {
  const gone = new AbortController();
  const response = await fetch(`${mesh.api.url}/v1/runs/${runId}/events`, {
    headers: {
      authorization: `Bearer ${mesh.api.token}`,
      accept: "text/event-stream",
      "last-event-id": String(afterSeq),
    },
    signal: gone.signal,
  });
  if (response.status === 204) return { events: [], isOver: true };
  const events: SeenEvent[] = [];
  try {
    const frames = response.body!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
    for await (const frame of frames) {
      if (frame.event === "end") return { events, isOver: true };
      const event = JSON.parse(frame.data) as SeenEvent;
      expect([frame.id, frame.event]).toEqual([String(event.seq), event.kind]);
      events.push(event);
      if (events.length >= most) break;
    }
  } finally {
    gone.abort();
  }
  return { events, isOver: false };
};

const bySocket: Reader = async (runId, afterSeq, most) => {
  const socket = new WebSocket(`${mesh.api.url.replace(/^http/, "ws")}/v1/ws`, {
    headers: { authorization: `Bearer ${mesh.api.token}` },
  });
  const events: SeenEvent[] = [];
  let isOver = false;
  socket.on("message", (bytes: Buffer) => {
    const frame = JSON.parse(bytes.toString("utf8")) as { type: string; event: SeenEvent };
    if (frame.type === "ready") {
      socket.send(JSON.stringify({ type: "subscribe", id: "a", run: runId, after_seq: afterSeq }));
    }
    if (frame.type === "event" && events.length < most) events.push(frame.event);
    isOver ||= frame.type === "end" || frame.type === "error";
  });
  await until(() => isOver || events.length >= most, { timeoutMs: 60_000, everyMs: 2, what: "events of the socket" });
  socket.terminate();
  return { events, isOver: isOver && events.length < most };
};

const byGrpc: Reader = async (runId, afterSeq, most) => {
  using client = await ReflectedClient.connect(mesh.grpcAddress, "yao.mesh.v1.RunService", mesh.api.token);
  const events: SeenEvent[] = [];
  for await (const { event } of client.stream<{ event: SeenEvent }>("FollowRun", { run: runId, after_seq: afterSeq })) {
    events.push(event);
    if (events.length >= most) return { events, isOver: false };
  }
  return { events, isOver: true };
};

const READERS: readonly (readonly [string, Reader])[] = [
  ["Server-Sent Events", bySse],
  ["the event socket", bySocket],
  ["gRPC", byGrpc],
];

/** A number in [1, most], the same for the same place of a test. */
function scattered(seed: number, most: number): number {
  const next = Math.imul(seed + 1, 2_654_435_761) >>> 0;
  return 1 + (next % most);
}

describe.each(READERS)("a run read over %s", (_name, read) => {
  test.each(Array.from({ length: CUTS }, (_, i) => i + 1))("in pieces (%d) is the whole log, once", async (seed) => {
    const run = await mesh.createRun({ assistant: "counter", input: "/count 60 every 5ms" });
    const seen: SeenEvent[] = [];
    for (let cut = 0; ; cut += 1) {
      const { events, isOver } = await read(run.id, seen.at(-1)?.seq ?? 0, scattered(seed * 31 + cut, 9));
      seen.push(...events);
      if (isOver) break;
      expect(cut).toBeLessThan(500);
    }
    const log = await mesh.api.pages(run.id);
    expect(seen.map(({ seq }) => seq)).toEqual(log.map((_, i) => i + 1));
    expect(seen.map(({ kind, data }) => [kind, data])).toEqual(log.map(({ kind, data }) => [kind, data]));
  });
});

test("a completion that is cut and asked for again under its key is the same completion", async () => {
  const client = new OpenAI({ baseURL: `${mesh.api.url}/v1`, apiKey: mesh.api.token, maxRetries: 0 });
  const whole = Array.from({ length: 50 }, (_, i) => String(i + 1)).join(" ");
  for (let seed = 1; seed <= 6; seed += 1) {
    const headers = { "idempotency-key": `cut-${seed}` };
    const ask = () =>
      client.chat.completions.create(
        {
          model: "counter",
          messages: [{ role: "user", content: "/count 50 every 5ms" }],
          stream: true,
          stream_options: { include_usage: true },
        },
        { headers },
      );
    const begun: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of await ask()) if (begun.push(chunk) >= scattered(seed, 6)) break;
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of await ask()) chunks.push(chunk);
    expect(chunks.slice(0, begun.length)).toEqual(begun);
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe(whole);
    expect(chunks.at(-1)?.usage?.completion_tokens).toBe(50);
  }
});

test("the log, a native reader and the completion tell the same text", async () => {
  const client = new OpenAI({ baseURL: `${mesh.api.url}/v1`, apiKey: mesh.api.token, maxRetries: 0 });
  const { data, response } = await client.chat.completions
    .create({ model: "counter", messages: [{ role: "user", content: "/count 30 every 5ms" }] })
    .withResponse();
  const runId = response.headers.get("x-yao-run") ?? "";
  const logs = await Promise.all(READERS.map(([, read]) => read(runId, 0, 10_000)));
  const texts = logs.map(({ events }) =>
    events
      .filter(({ kind, data: body }) => kind === "message" && body["type"] === "text" && body["delta"] === true)
      .map(({ data: body }) => (body["props"] as { content: string }).content)
      .join(""),
  );
  expect(new Set([...texts, data.choices[0]?.message.content])).toEqual(
    new Set([Array.from({ length: 30 }, (_, i) => String(i + 1)).join(" ")]),
  );
});
