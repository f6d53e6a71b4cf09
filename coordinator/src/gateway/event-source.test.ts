import { connect, type Socket } from "node:net";

import { MeshError, until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { Eval, EvalResult } from "@mesh/proto";
import { describe, expect, test } from "vitest";

import { callerWith, type RunningGateway, startGateway } from "./testing/running-gateway.ts";
import { scriptedApi, ScriptedRun } from "./testing/scripted-api.ts";

const EVENTS = "/v1/runs/run_00000000000000000000000001/events";
const STREAM = { accept: "text/event-stream" };

interface Received {
  text: string;
  done: boolean;
}

/** Reads a stream in the background. */
function receive(response: Response): Received {
  const received: Received = { text: "", done: false };
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) received.text += decoder.decode(chunk, { stream: true });
  };
  void read()
    .catch(() => undefined)
    .finally(() => (received.done = true));
  return received;
}

const seqs = ({ text }: Received): number[] => [...text.matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]));

async function open(gateway: RunningGateway, path = EVENTS, headers: Record<string, string> = {}): Promise<Response> {
  return gateway.fetch(path, { headers: { ...STREAM, ...headers } });
}

describe("the stream of a run", () => {
  test("has id, kind and data of each event, ends with `end` and closes", async () => {
    const run = new ScriptedRun();
    run.emit("run.queued");
    await using gateway = await startGateway({ api: scriptedApi(run.handlers).api });
    const response = await open(gateway);
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(response.headers.get("cache-control")).toContain("no-store");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    expect(response.headers.get("x-request-id")).toMatch(/^req_/);
    const received = receive(response);
    await until(() => seqs(received).length === 1);
    run.emit("message", { type: "text", props: { content: "two\nlines" } });
    run.end();
    await until(() => received.done);
    expect(received.text.startsWith("retry: 1000\n\nid: 1\nevent: run.queued\ndata: {")).toBe(true);
    expect(received.text).toContain('"content":"two\\nlines"');
    expect(received.text.endsWith(`event: end\ndata: {"run_id":"${run.id}","last_seq":3}\n\n`)).toBe(true);
    expect(seqs(received)).toEqual([1, 2, 3]);
  });

  test("sends its headers before there is any event", async () => {
    const run = new ScriptedRun();
    await using gateway = await startGateway({ api: scriptedApi(run.handlers).api });
    const response = await open(gateway);
    expect(response.status).toBe(200);
    await response.body?.cancel();
  });

  test("resumes after Last-Event-ID, which wins over after_seq; ?stream=1 asks for a stream too", async () => {
    const run = new ScriptedRun();
    for (let i = 0; i < 5; i += 1) run.emit("message");
    run.end();
    await using gateway = await startGateway({ api: scriptedApi(run.handlers).api });
    for (const [path, headers, expected] of [
      [`${EVENTS}?after_seq=4`, {}, [5, 6]],
      [`${EVENTS}?after_seq=1`, { "last-event-id": "3" }, [4, 5, 6]],
      [`${EVENTS}?stream=1&after_seq=5`, { accept: "*/*" }, [6]],
    ] as const) {
      const received = receive(await open(gateway, path, headers));
      await until(() => received.done);
      expect(seqs(received)).toEqual(expected);
    }
  });

  test("a cursor at the end of a finished run is 204, so that EventSource stops", async () => {
    const run = new ScriptedRun();
    run.end();
    await using gateway = await startGateway({ api: scriptedApi(run.handlers).api });
    expect((await open(gateway, EVENTS, { "last-event-id": "1" })).status).toBe(204);
  });

  test.each([
    ["Last-Event-ID", EVENTS, { "last-event-id": "x1" }],
    ["after_seq", `${EVENTS}?after_seq=-1`, {}],
    ["stream", `${EVENTS}?stream=yes`, {}],
  ])("a malformed %s is 400 before any byte of a stream", async (_title, path, headers) => {
    const run = new ScriptedRun();
    await using gateway = await startGateway({ api: scriptedApi(run.handlers).api });
    const response = await open(gateway, path, headers);
    if (path.includes("stream=yes")) {
      // Not a stream then, and `stream` is no parameter of a page.
      expect(response.headers.get("content-type")).not.toContain("event-stream");
      return;
    }
    expect(response.status).toBe(400);
  });

  test("a run the caller may not see is 404, as a problem", async () => {
    const { api } = scriptedApi({ getRun: () => Promise.reject(new MeshError("not_found", "run x was not found")) });
    await using gateway = await startGateway({ api });
    const response = await open(gateway);
    expect(response.status).toBe(404);
    expect(response.headers.get("content-type")).toContain("problem+json");
  });

  test("without the wish for a stream the same path is a page", async () => {
    const { api, calls } = scriptedApi({
      listRunEvents: () => Promise.resolve({ events: [], last_seq: 0, ended: false }),
    });
    await using gateway = await startGateway({ api });
    const response = await gateway.fetch(`${EVENTS}?after_seq=3&limit=10`);
    expect(await response.json()).toEqual({ events: [], last_seq: 0, ended: false });
    expect(calls.at(-1)?.request).toMatchObject({ after_seq: 3, limit: 10 });
  });
});

describe("the stream of a feed", () => {
  const FEED = "/v1/workspaces/default/feed";

  test("resumes after Last-Event-ID and has id, kind and data; the same path is a page too", async () => {
    const feed = async function* feed({ after_seq: afterSeq }: { after_seq: number }): AsyncGenerator<unknown> {
      yield { event: { seq: afterSeq + 1, kind: "node.changed", object: "node_1", data: {} } };
    };
    const { api, calls } = scriptedApi({ followFeed: feed });
    await using gateway = await startGateway({ api });
    const received = receive(await open(gateway, FEED, { "last-event-id": "41" }));
    await until(() => received.done);
    expect(seqs(received)).toEqual([42]);
    expect(received.text).toContain('event: node.changed\ndata: {"seq":42,');
    expect(await (await gateway.fetch(`${FEED}?after_seq=3`)).json()).toEqual({ events: [], last_seq: 0 });
    expect(calls.at(-1)).toMatchObject({ method: "listFeed", request: { workspace: "default", after_seq: 3 } });
  });

  test("a workspace the caller may not see is 404, as a problem", async () => {
    const { api } = scriptedApi({ listFeed: () => Promise.reject(new MeshError("not_found", "no such workspace")) });
    await using gateway = await startGateway({ api });
    const response = await open(gateway, FEED);
    expect([response.status, response.headers.get("content-type")]).toEqual([
      404,
      expect.stringContaining("problem+json"),
    ]);
  });
});

describe("the stream of an eval", () => {
  const LOG = "/v1/evals/eval_00000000000000000000000001/results";

  const scripted = (state: string, lastSeq: number): ReturnType<typeof scriptedApi> =>
    scriptedApi({
      getEval: () => Promise.resolve({ eval: Eval.fromPartial({ id: "eval_1", state, last_seq: lastSeq }) }),
      followEval: async function* follow({ after_seq: afterSeq }: { after_seq: number }): AsyncGenerator<unknown> {
        const running = Eval.fromPartial({ id: "eval_1", state: "running", last_seq: 7 });
        yield { event: { $case: "eval", value: running } };
        yield { event: { $case: "result", value: EvalResult.fromPartial({ seq: afterSeq + 1, case_id: "a" }) } };
        yield { event: { $case: "eval", value: { ...running, state: "ended" } } };
      },
    });

  test("has results under their seq, and the eval under that of the last result that was sent", async () => {
    const { api, calls } = scripted("running", 7);
    await using gateway = await startGateway({ api });
    const received = receive(await open(gateway, `${LOG}?brief=true`, { "last-event-id": "5" }));
    await until(() => received.done);
    expect(seqs(received)).toEqual([5, 6, 6]);
    expect([...received.text.matchAll(/^event: (\w+)$/gm)].map((match) => match[1])).toEqual([
      "eval",
      "result",
      "eval",
      "end",
    ]);
    expect(received.text).toContain('"case_id":"a"');
    expect(received.text).toContain('data: {"eval_id":"eval_00000000000000000000000001","last_seq":6}');
    expect(calls.at(-1)?.request).toMatchObject({ after_seq: 5, brief: true });
    expect((await gateway.fetch(`${LOG}?page_size=3&node=alpha`)).status).toBe(200);
    expect(calls.at(-1)).toMatchObject({ method: "listEvalResults", request: { page_size: 3, node: "alpha" } });
  });

  test("a cursor at the end of one that has ended is 204, one beyond its log a problem", async () => {
    await using gateway = await startGateway({ api: scripted("ended", 7).api });
    expect((await open(gateway, LOG, { "last-event-id": "7" })).status).toBe(204);
    expect((await open(gateway, LOG, { "last-event-id": "8" })).status).toBe(400);
  });
});

describe("the end of a stream", () => {
  test("a client that leaves releases the handler", async () => {
    const run = new ScriptedRun();
    await using gateway = await startGateway({ api: scriptedApi(run.handlers).api });
    const response = await open(gateway);
    await until(() => run.followers === 1);
    await response.body?.cancel();
    await until(() => run.followers === 0);
  });

  test("a stopping gateway says so and closes; the stop does not wait for readers", async () => {
    const run = new ScriptedRun();
    await using gateway = await startGateway({ api: scriptedApi(run.handlers).api });
    const received = receive(await open(gateway));
    await until(() => run.followers === 1);
    await gateway.stop();
    await until(() => received.done);
    expect(received.text).toContain(": the coordinator is stopping");
    expect(received.text).not.toContain("event: end");
  });

  test("a handler that ignores its signal cannot keep a stream open", async () => {
    const run = new ScriptedRun();
    const stuck = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) };
    const { api } = scriptedApi({ ...run.handlers, followRun: () => stuck });
    await using gateway = await startGateway({ api });
    const received = receive(await open(gateway));
    await gateway.stop();
    await until(() => received.done);
  });

  test("a token revoked meanwhile ends the stream within 15 s; pings come meanwhile", async () => {
    const clock = new FakeClock();
    const run = new ScriptedRun();
    const callers = new Map([["admin", callerWith(["admin"])]]);
    const gateway = await startGateway({ api: scriptedApi(run.handlers).api, clock, callers });
    const received = receive(await open(gateway));
    await until(() => run.followers === 1);
    await clock.advance(15_000);
    await until(() => received.text.includes("\n:\n\n"));
    expect(received.done).toBe(false);
    callers.clear();
    await clock.advance(15_000);
    await until(() => received.done);
    expect(run.followers).toBe(0);
    const stopped = gateway.stop();
    await clock.advance(1_000);
    await stopped;
  });

  test("a client that does not read is cut after 10 s, and reading is not driven ahead of it", async () => {
    const clock = new FakeClock();
    const run = new ScriptedRun();
    const text = "x".repeat(64 * 1024);
    for (let i = 0; i < 1_000; i += 1) run.emit("message", { text });
    let taken = 0;
    const { api } = scriptedApi({
      ...run.handlers,
      followRun: async function* follow(request: never, call) {
        for await (const item of run.handlers["followRun"]!(request, call) as AsyncIterable<unknown>) {
          taken += 1;
          yield item;
        }
      },
    });
    const gateway = await startGateway({ api, clock });
    const socket = await blockedReader(gateway);
    await until(() => taken > 0);
    let settled = -1;
    await until(() => settled === taken || ((settled = taken), false), { everyMs: 100 });
    expect(taken).toBeLessThan(500);
    await clock.advance(10_000);
    await until(() => socket.destroyed || socket.readableEnded || socket.errored !== null || (socket.resume(), false), {
      what: "the cut",
    });
    const stopped = gateway.stop();
    await clock.advance(1_000);
    await stopped;
    expect(taken).toBeLessThan(1_000);
  });
});

/** Asks for a stream and reads nothing of it. */
async function blockedReader(gateway: RunningGateway): Promise<Socket> {
  const socket = connect(gateway.httpPort, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.pause();
  await new Promise((resolve) => socket.once("connect", resolve));
  socket.write(`GET ${EVENTS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nAccept: text/event-stream\r\n\r\n`);
  return socket;
}
