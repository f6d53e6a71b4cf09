/** Clients that read a few events of a stream after a cursor and then break off, over each transport. For tests. */

import { credentials, Client } from "@grpc/grpc-js";
import { until } from "@mesh/kernel";
import { FeedServiceService, RunServiceService } from "@mesh/proto";
import { bearer } from "@mesh/rpc";
import { WebSocket } from "ws";

import type { RunningGateway } from "../../gateway/testing/running-gateway.ts";

/** An event as any transport gives it. */
export interface SeenEvent {
  readonly seq: number;
  readonly kind: string;
  readonly object?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** What is followed. */
export type Followed = { readonly run: string } | { readonly feed: string };

/** Reads events after the cursor until there are `count` or the stream has ended, then leaves without a word. */
export type TakeEvents = (what: Followed, afterSeq: number, count: number) => Promise<readonly SeenEvent[]>;

/** The three ways. */
export function streamClients(gateway: RunningGateway): Readonly<Record<"sse" | "ws" | "grpc", TakeEvents>> {
  return {
    sse: (what, afterSeq, count) => overSse(gateway, what, { afterSeq, count }),
    ws: (what, afterSeq, count) => overSocket(gateway, what, { afterSeq, count }),
    grpc: (what, afterSeq, count) => overGrpc(gateway, what, { afterSeq, count }),
  };
}

interface Stretch {
  readonly afterSeq: number;
  readonly count: number;
}

async function overSse(gateway: RunningGateway, what: Followed, { afterSeq, count }: Stretch): Promise<SeenEvent[]> {
  const path = "run" in what ? `/v1/runs/${what.run}/events` : `/v1/workspaces/${what.feed}/feed`;
  const abort = new AbortController();
  const headers = { accept: "text/event-stream", "last-event-id": String(afterSeq) };
  const response = await gateway.fetch(path, { headers, signal: abort.signal });
  if (response.status === 204) return [];
  const events: SeenEvent[] = [];
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const frames = text.split("\n\n");
    text = frames.pop() ?? "";
    const isOver = frames.some((frame) => frame.startsWith("event: end"));
    for (const frame of frames) {
      const data = /^id: \d+\nevent: .*\ndata: (.*)$/m.exec(frame)?.[1];
      if (data !== undefined) events.push(JSON.parse(data) as SeenEvent);
    }
    if (isOver || events.length >= count) break;
  }
  abort.abort();
  return events.slice(0, count);
}

async function overSocket(gateway: RunningGateway, what: Followed, { afterSeq, count }: Stretch): Promise<SeenEvent[]> {
  const socket = new WebSocket(`${gateway.url.replace("http", "ws")}/v1/ws`, {
    headers: { authorization: "Bearer admin" },
  });
  const events: SeenEvent[] = [];
  let isOver = false;
  socket.on("error", () => (isOver = true));
  socket.on("message", (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as { type: string; event?: SeenEvent };
    if (frame.type === "ready")
      socket.send(JSON.stringify({ type: "subscribe", id: "1", ...what, after_seq: afterSeq }));
    if (frame.event !== undefined) events.push(frame.event);
    if (frame.type === "end" || frame.type === "error") isOver = true;
  });
  await until(() => isOver || events.length >= count, { timeoutMs: 30_000, what: "events over the socket" });
  socket.terminate();
  return events.slice(0, count);
}

async function overGrpc(gateway: RunningGateway, what: Followed, { afterSeq, count }: Stretch): Promise<SeenEvent[]> {
  const client = new Client(gateway.grpcAddress, credentials.createInsecure());
  const { followRun } = RunServiceService;
  const { followFeed } = FeedServiceService;
  const stream =
    "run" in what
      ? client.makeServerStreamRequest(
          followRun.path,
          followRun.requestSerialize,
          followRun.responseDeserialize,
          { run: what.run, after_seq: afterSeq },
          bearer("admin"),
        )
      : client.makeServerStreamRequest(
          followFeed.path,
          followFeed.requestSerialize,
          followFeed.responseDeserialize,
          { workspace: what.feed, after_seq: afterSeq },
          bearer("admin"),
        );
  const events: SeenEvent[] = [];
  try {
    for await (const message of stream as AsyncIterable<{ event?: SeenEvent }>) {
      if (message.event !== undefined) events.push(message.event);
      if (events.length >= count) break;
    }
  } finally {
    stream.cancel();
    client.close();
  }
  return events.slice(0, count);
}
