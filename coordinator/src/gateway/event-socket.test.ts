import { until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";

import { callerWith, type RunningGateway, startGateway } from "./testing/running-gateway.ts";
import { scriptedApi, ScriptedRun } from "./testing/scripted-api.ts";

type Frame = Record<string, unknown> & { readonly type: string; readonly event?: { readonly seq: number } };

class Client {
  readonly frames: Frame[] = [];
  readonly socket: WebSocket;
  closed: { readonly code: number; readonly reason: string } | undefined;
  pings = 0;

  constructor(
    gateway: RunningGateway,
    options: { readonly headers?: Record<string, string>; autoPong?: boolean } = {},
  ) {
    this.socket = new WebSocket(`${gateway.url.replace("http", "ws")}/v1/ws`, options);
    this.socket.on("message", (data: Buffer) => this.frames.push(JSON.parse(data.toString()) as Frame));
    this.socket.on("close", (code, reason) => (this.closed = { code, reason: reason.toString() }));
    this.socket.on("ping", () => (this.pings += 1));
    this.socket.on("error", () => undefined);
  }

  static async open(gateway: RunningGateway, options = {}): Promise<Client> {
    const client = new Client(gateway, options);
    await until(() => client.socket.readyState === WebSocket.OPEN);
    return client;
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  seqs(id: string): number[] {
    return this.frames
      .filter((frame) => frame["id"] === id && frame.type === "event")
      .map((frame) => frame.event?.seq ?? 0);
  }

  frame(type: string): Promise<Frame> {
    return until(() => this.frames.find((frame) => frame.type === type), { what: `a frame ${type}` });
  }
}

const RUN = "run_00000000000000000000000001";
const AUTH = { type: "auth", token: "admin" };

describe("authentication", () => {
  test("by the first frame, or by the Authorization header", async () => {
    await using gateway = await startGateway({ api: scriptedApi().api });
    const first = await Client.open(gateway);
    first.send(AUTH);
    expect(await first.frame("ready")).toEqual({ type: "ready", user: "ada" });
    const second = await Client.open(gateway, { headers: { authorization: "Bearer admin" } });
    await second.frame("ready");
  });

  test("a wrong token is an error and 4401; a subscription before the token is 4401", async () => {
    await using gateway = await startGateway({ api: scriptedApi().api });
    const wrong = await Client.open(gateway);
    wrong.send({ type: "auth", token: "guess" });
    await until(() => wrong.closed);
    expect(wrong.closed?.code).toBe(4401);
    expect(wrong.frames).toEqual([expect.objectContaining({ type: "error", code: "unauthenticated" })]);
    const eager = await Client.open(gateway);
    eager.send({ type: "subscribe", id: "1", run: RUN });
    await until(() => eager.closed);
    expect(eager.closed?.code).toBe(4401);
  });

  test("no token within 10 s is 4408", async () => {
    const clock = new FakeClock();
    const gateway = await startGateway({ api: scriptedApi().api, clock });
    const client = await Client.open(gateway);
    await clock.advance(10_000);
    await until(() => client.closed);
    expect(client.closed?.code).toBe(4408);
    const stopped = gateway.stop();
    await clock.advance(1_000);
    await stopped;
  });
});

describe("subscriptions", () => {
  test("several runs share a socket; each resumes at its own cursor and ends with its id", async () => {
    const run = new ScriptedRun();
    run.emit("message");
    run.emit("message");
    await using gateway = await startGateway({ api: scriptedApi(run.handlers).api });
    const client = await Client.open(gateway);
    client.send(AUTH);
    client.send({ type: "subscribe", id: "all", run: RUN });
    client.send({ type: "subscribe", id: "tail", run: RUN, after_seq: 1 });
    await until(() => client.seqs("all").length === 2 && client.seqs("tail").length === 1);
    run.end();
    await until(() => client.frames.filter(({ type }) => type === "end").length === 2);
    expect(client.seqs("all")).toEqual([1, 2, 3]);
    expect(client.seqs("tail")).toEqual([2, 3]);
    expect(client.closed).toBeUndefined();
  });

  test("a feed shares the socket with runs; a subscription names one of the two", async () => {
    const run = new ScriptedRun();
    run.emit("message");
    const feed = async function* feed(request: never): AsyncGenerator<unknown> {
      yield { event: { seq: 8, kind: "task.changed", object: "task_1", data: request } };
    };
    await using gateway = await startGateway({ api: scriptedApi({ ...run.handlers, followFeed: feed }).api });
    const client = await Client.open(gateway);
    client.send(AUTH);
    client.send({ type: "subscribe", id: "run", run: RUN });
    client.send({ type: "subscribe", id: "feed", feed: "default", after_seq: 7 });
    expect(await client.frame("end")).toEqual({ type: "end", id: "feed" });
    await until(() => client.seqs("run").length === 1);
    const event = client.frames.find((frame) => frame["id"] === "feed" && frame.type === "event")?.event;
    expect(event).toMatchObject({ seq: 8, kind: "task.changed", data: { workspace: "default", after_seq: 7 } });
    client.send({ type: "subscribe", id: "both", run: RUN, feed: "default" });
    client.send({ type: "subscribe", id: "none" });
    await until(() => client.frames.filter(({ type }) => type === "error").length === 2);
    expect((await client.frame("error"))["message"]).toContain("name either a run or a feed");
  });

  test("unsubscribe ends one and frees its id", async () => {
    const run = new ScriptedRun();
    await using gateway = await startGateway({ api: scriptedApi(run.handlers).api });
    const client = await Client.open(gateway);
    client.send(AUTH);
    client.send({ type: "subscribe", id: "1", run: RUN });
    await until(() => run.followers === 1);
    client.send({ type: "subscribe", id: "1", run: RUN });
    expect(await client.frame("error")).toMatchObject({ id: "1", code: "already_exists" });
    client.send({ type: "unsubscribe", id: "1" });
    expect(await client.frame("end")).toEqual({ type: "end", id: "1" });
    await until(() => run.followers === 0);
    client.send({ type: "subscribe", id: "1", run: RUN });
    await until(() => run.followers === 1);
  });

  test("a frame that is not understood is answered, and the socket lives on", async () => {
    await using gateway = await startGateway({ api: scriptedApi().api });
    const client = await Client.open(gateway);
    client.send("{");
    client.send({ type: "dance" });
    client.send({ type: "subscribe", id: "1", run: RUN, after_seq: -1 });
    await until(() => client.frames.length === 3);
    expect(client.frames.map((frame) => frame["code"])).toEqual(Array(3).fill("invalid_argument"));
    client.send(AUTH);
    await client.frame("ready");
  });

  test("at most 100 subscriptions fit on one socket", async () => {
    const run = new ScriptedRun();
    await using gateway = await startGateway({ api: scriptedApi(run.handlers).api });
    const client = await Client.open(gateway);
    client.send(AUTH);
    await client.frame("ready");
    for (let i = 0; i < 100; i += 1) {
      client.send({ type: "subscribe", id: String(i), run: RUN });
      if (i % 50 === 49) await until(() => run.followers === i + 1);
    }
    client.send({ type: "subscribe", id: "one more", run: RUN });
    expect(await client.frame("error")).toMatchObject({ id: "one more", code: "resource_exhausted" });
  });

  test("each subscription costs the token's budget", async () => {
    const run = new ScriptedRun();
    await using gateway = await startGateway({
      api: scriptedApi(run.handlers).api,
      config: { rate: { perMinute: 60, burst: 2 } },
    });
    const client = await Client.open(gateway);
    client.send(AUTH);
    client.send({ type: "subscribe", id: "1", run: RUN });
    client.send({ type: "subscribe", id: "2", run: RUN });
    expect(await client.frame("error")).toMatchObject({ id: "2", code: "resource_exhausted" });
  });
});

describe("the end of a socket", () => {
  test("a client that leaves releases its streams", async () => {
    const run = new ScriptedRun();
    await using gateway = await startGateway({ api: scriptedApi(run.handlers).api });
    const client = await Client.open(gateway);
    client.send(AUTH);
    client.send({ type: "subscribe", id: "1", run: RUN });
    await until(() => run.followers === 1);
    client.socket.terminate();
    await until(() => run.followers === 0);
  });

  test("a frame over 64 KB closes with 1009", async () => {
    await using gateway = await startGateway({ api: scriptedApi().api });
    const client = await Client.open(gateway);
    client.send({ type: "auth", token: "x".repeat(70_000) });
    await until(() => client.closed);
    expect(client.closed?.code).toBe(1009);
  });

  test("a stopping gateway closes with 1012", async () => {
    const gateway = await startGateway({ api: scriptedApi().api, callers: new Map([["admin", callerWith(["read"])]]) });
    const client = await Client.open(gateway);
    await gateway.stop();
    await until(() => client.closed);
    expect(client.closed?.code).toBe(1012);
  });

  test("a peer that answers no ping is cut", async () => {
    const clock = new FakeClock();
    const gateway = await startGateway({ api: scriptedApi().api, clock });
    const client = await Client.open(gateway, { autoPong: false, headers: { authorization: "Bearer admin" } });
    await client.frame("ready");
    await clock.advance(50_000);
    await until(() => client.pings === 2);
    expect(client.closed).toBeUndefined();
    await clock.advance(25_000);
    await until(() => client.closed);
    const stopped = gateway.stop();
    await clock.advance(1_000);
    await stopped;
  });

  test("an upgrade at another path is refused with a problem", async () => {
    await using gateway = await startGateway({ api: scriptedApi().api });
    const socket = new WebSocket(`${gateway.url.replace("http", "ws")}/v1/other`);
    let status = 0;
    socket.on("unexpected-response", (_request, response) => (status = response.statusCode ?? 0));
    socket.on("error", () => undefined);
    await until(() => status === 404);
  });
});
