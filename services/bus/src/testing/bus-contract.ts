/** What every {@link Bus} must do: one suite, run on memory and on a real server. */

import { MeshError, systemClock, systemIds, ulidOf, until } from "@mesh/kernel";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { BusAdmin } from "../admin.ts";
import type { Bus, StreamMessage } from "../bus.ts";
import { INGEST_DURABLE, STREAM, subjects, workDurable } from "../subjects.ts";
import { testNode } from "./test-nats.ts";

/** A fresh place for buses to meet, with streams and the coordinator's rights. */
export interface ContractMesh {
  readonly admin: BusAdmin;
  connect(): Promise<Bus>;
  /** Breaks every connection and lets them heal; resolves when the transport works again. */
  interrupt(): Promise<void>;
  stop(): Promise<void>;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const textOf = (data: Uint8Array): string => new TextDecoder().decode(data);

/** Runs the suite; `make` is called before each test. */
export function busContract(name: string, make: () => Promise<ContractMesh>): void {
  describe(`bus contract: ${name}`, () => {
    let mesh: ContractMesh;
    let a: Bus;
    let b: Bus;
    const running: { stop: AbortController; ended: Promise<void> }[] = [];
    const node = testNode().digest;

    beforeEach(async () => {
      mesh = await make();
      a = await mesh.connect();
      b = await mesh.connect();
    });

    afterEach(async () => {
      for (const service of running.splice(0)) {
        service.stop.abort();
        await service.ended;
      }
      await mesh.stop();
    });

    // Serving has reached the other side once a request is answered.
    async function served(bus: Bus, subject: string): Promise<void> {
      await until(
        () =>
          bus.request(subject, bytes("ready?"), { timeoutMs: 500 }).then(
            () => true,
            (error: unknown) => failedOtherwise(error),
          ),
        { what: `an answer on ${subject}` },
      );
    }

    function failedOtherwise(error: unknown): boolean {
      return !(error instanceof MeshError && ["unavailable", "deadline_exceeded"].includes(error.code));
    }

    function consume(
      handler: (messages: readonly StreamMessage[]) => Promise<void>,
      options: { maxBatch?: number; onMissing?: () => Promise<void> | void; durable?: string; stream?: string } = {},
    ): { stop(): Promise<void> } {
      const { maxBatch = 8, onMissing, durable = workDurable(node), stream = STREAM.work } = options;
      const stop = new AbortController();
      const service = b.consumer({ stream, durable }, handler, { maxBatch, ...(onMissing && { onMissing }) });
      const ended = service.run(stop.signal);
      running.push({ stop, ended });
      return {
        stop: async () => {
          stop.abort();
          await ended;
        },
      };
    }

    test("B1: a request is answered by whoever serves the subject", async () => {
      a.serve("t.echo.*", async (data, subject) => bytes(`${subject} ${textOf(data)}`));
      await served(b, "t.echo.x");
      const reply = await b.request("t.echo.y", bytes("hello"), { timeoutMs: 2_000 });
      expect(textOf(reply)).toBe("t.echo.y hello");
    });

    test("B1: a request on a subject nobody serves is unavailable at once", async () => {
      const start = systemClock.monotonic();
      await expect(b.request("t.nobody", bytes(""), { timeoutMs: 5_000 })).rejects.toMatchObject({
        code: "unavailable",
      });
      expect(systemClock.monotonic() - start).toBeLessThan(2_000);
    });

    test("B1: a request that is not answered in time fails with deadline_exceeded", async () => {
      let ready = false;
      a.serve("t.slow", (data) =>
        textOf(data) === "ready?" ? Promise.resolve(data) : new Promise(() => (ready = true)),
      );
      await served(b, "t.slow");
      await expect(b.request("t.slow", bytes("x"), { timeoutMs: 100 })).rejects.toMatchObject({
        code: "deadline_exceeded",
      });
      expect(ready).toBe(true);
    });

    test("B1: a MeshError thrown by the handler reaches the caller with code and message", async () => {
      a.serve("t.fails", async () => {
        throw new MeshError("failed_precondition", "the node is draining");
      });
      await served(b, "t.fails");
      await expect(b.request("t.fails", bytes(""), { timeoutMs: 2_000 })).rejects.toMatchObject({
        code: "failed_precondition",
        message: "the node is draining",
      });
    });

    test("B1: the text of an unexpected error stays with the server", async () => {
      a.serve("t.breaks", async () => {
        throw new Error("secret connection string");
      });
      await served(b, "t.breaks");
      const failure = await b
        .request("t.breaks", bytes(""), { timeoutMs: 2_000 })
        .catch((error: unknown) => MeshError.from(error));
      expect(failure).toMatchObject({ code: "internal" });
      expect((failure as MeshError).message).not.toContain("secret");
    });

    test("a cancelled request fails with cancelled", async () => {
      const abort = new AbortController();
      a.serve("t.hang", (data) =>
        textOf(data) === "ready?" ? Promise.resolve(data) : new Promise(() => abort.abort()),
      );
      await served(b, "t.hang");
      const asked = b.request("t.hang", bytes("x"), { timeoutMs: 5_000, signal: abort.signal });
      await expect(asked).rejects.toMatchObject({ code: "cancelled" });
      const again = b.request("t.hang", bytes("x"), { timeoutMs: 5_000, signal: abort.signal });
      await expect(again).rejects.toMatchObject({ code: "cancelled" });
    });

    test("a stopped server no longer answers", async () => {
      const serving = a.serve("t.once", async (data) => data);
      await served(b, "t.once");
      serving.stop();
      serving.stop();
      await until(
        () =>
          b.request("t.once", bytes(""), { timeoutMs: 500 }).then(
            () => false,
            (error: MeshError) => error.code === "unavailable",
          ),
        { what: "the refusal" },
      );
    });

    test("requests of one queue group are each answered once and handlers run concurrently", async () => {
      let active = 0;
      let most = 0;
      let calls = 0;
      const handler = async (data: Uint8Array): Promise<Uint8Array> => {
        if (textOf(data) === "ready?") return data;
        calls += 1;
        active += 1;
        most = Math.max(most, active);
        await until(() => most > 1, { what: "a second handler" });
        active -= 1;
        return data;
      };
      a.serve("t.shared", handler, { queue: "q" });
      b.serve("t.shared", handler, { queue: "q" });
      await served(a, "t.shared");
      await served(b, "t.shared");
      await Promise.all(
        Array.from({ length: 20 }, (_, i) => a.request("t.shared", bytes(String(i)), { timeoutMs: 5_000 })),
      );
      expect(calls).toBe(20);
      expect(most).toBeGreaterThan(1);
    });

    test("a subscriber receives messages in the order of publication", async () => {
      const got: string[] = [];
      b.subscribe("t.order.>", (data) => got.push(textOf(data)));
      await until(() => {
        a.publish("t.order.ready", bytes("ready"));
        return got.length > 0;
      });
      got.length = 0;
      for (let i = 0; i < 200; i += 1) a.publish("t.order.n", bytes(String(i)));
      await until(() => got.filter((text) => text !== "ready").length === 200, { what: "200 messages" });
      expect(got.filter((text) => text !== "ready")).toEqual(Array.from({ length: 200 }, (_, i) => String(i)));
    });

    test("a subscriber that throws gets the next message", async () => {
      const got: string[] = [];
      b.subscribe("t.throws", (data) => {
        got.push(textOf(data));
        throw new Error("handler broke");
      });
      await until(() => {
        a.publish("t.throws", bytes("x"));
        return got.length > 1;
      });
    });

    test("one member of a queue group receives a message, and everybody outside it", async () => {
      const counts = { one: 0, two: 0, out: 0 };
      a.subscribe("t.group", () => (counts.one += 1), { queue: "g" });
      b.subscribe("t.group", () => (counts.two += 1), { queue: "g" });
      b.subscribe("t.group", () => (counts.out += 1));
      a.serve("t.ready", async (data) => data);
      b.serve("t.ready.b", async (data) => data);
      await served(b, "t.ready");
      await served(a, "t.ready.b");
      for (let i = 0; i < 50; i += 1) a.publish("t.group", bytes("x"));
      await until(() => counts.out === 50, { what: "50 messages" });
      expect(counts.one + counts.two).toBe(50);
    });

    test("a message beyond the payload limit is refused with advice", async () => {
      a.serve("t.big", async (data) => (data.length < 10 ? data : new Uint8Array(2 * 1024 * 1024)));
      await served(b, "t.big");
      const big = new Uint8Array(2 * 1024 * 1024);
      await expect(b.request("t.big", big, { timeoutMs: 2_000 })).rejects.toMatchObject({ code: "resource_exhausted" });
      expect(() => b.publish("t.big", big)).toThrow(/larger than the bus carries/);
      await expect(b.request("t.big", new Uint8Array(100), { timeoutMs: 2_000 })).rejects.toMatchObject({
        code: "resource_exhausted",
      });
    });

    test("publishing to a subject without a stream is unavailable", async () => {
      await expect(a.publishStream("t.nostream", bytes("x"), { msgId: "1" })).rejects.toMatchObject({
        code: "unavailable",
      });
    });

    test("B4: stream messages arrive once per id, greedily batched, and leave the work queue when acknowledged", async () => {
      await mesh.admin.ensureWorkConsumer(node, 32);
      for (let i = 0; i < 20; i += 1) {
        await a.publishStream(subjects.work(node), bytes(String(i)), { msgId: `m${i}` });
        await a.publishStream(subjects.work(node), bytes(String(i)), { msgId: `m${i}` });
      }
      const batches: string[][] = [];
      consume(async (messages) => {
        batches.push(messages.map((message) => textOf(message.data)));
        for (const message of messages) message.ack();
      });
      await until(() => batches.flat().length >= 20, { what: "20 messages" });
      expect(batches.flat()).toEqual(Array.from({ length: 20 }, (_, i) => String(i)));
      expect(batches.every((batch) => batch.length <= 8)).toBe(true);
      expect(batches.length).toBeLessThan(20);
    });

    test("B4: a handler that throws gets the messages again, counted", async () => {
      await mesh.admin.ensureWorkConsumer(node, 4);
      const counts: number[] = [];
      consume(async (messages) => {
        counts.push(...messages.map((message) => message.deliveryCount));
        if (counts.length === 1) throw new Error("first try fails");
        for (const message of messages) message.ack();
      });
      await a.publishStream(subjects.work(node), bytes("x"), { msgId: "again" });
      await until(() => counts.length >= 2, { what: "the second delivery" });
      expect(counts).toEqual([1, 2]);
    });

    test("B4: nak delivers again after the delay, term never, and only the first of them counts", async () => {
      await mesh.admin.ensureWorkConsumer(node, 4);
      const got: string[] = [];
      consume(async (messages) => {
        for (const message of messages) {
          const text = textOf(message.data);
          got.push(`${text}${message.deliveryCount}`);
          if (text === "term") {
            message.term();
            message.nak(0);
          } else if (message.deliveryCount === 1) message.nak(100);
          else message.ack();
        }
      });
      await a.publishStream(subjects.work(node), bytes("term"), { msgId: "t" });
      await a.publishStream(subjects.work(node), bytes("nak"), { msgId: "n" });
      await until(() => got.includes("nak2"), { what: "the second delivery" });
      await a.publishStream(subjects.work(node), bytes("end"), { msgId: "e" });
      await until(() => got.includes("end2"), { what: "the last message" });
      expect(got.filter((text) => text.startsWith("term"))).toEqual(["term1"]);
    });

    test("B4: a consumer that stops gives back what it holds", async () => {
      await mesh.admin.ensureWorkConsumer(node, 32);
      for (let i = 0; i < 10; i += 1) await a.publishStream(subjects.work(node), bytes(String(i)), { msgId: `g${i}` });
      const seen = new Set<string>();
      let hasBegun = false;
      let release: () => void = () => undefined;
      const blocked = new Promise<void>((resolve) => {
        release = resolve;
      });
      const first = consume(
        async (messages) => {
          hasBegun = true;
          await blocked;
          for (const message of messages) {
            seen.add(textOf(message.data));
            message.ack();
          }
        },
        { maxBatch: 2 },
      );
      await until(() => hasBegun, { what: "the first batch" });
      // Round trips on the consumer's connection: what was prefetched has arrived.
      a.serve("t.trip", async (data) => data);
      for (let i = 0; i < 5; i += 1) await served(b, "t.trip");
      const stopping = first.stop();
      release();
      await stopping;
      consume(async (messages) => {
        for (const message of messages) {
          seen.add(textOf(message.data));
          message.ack();
        }
      });
      await until(() => seen.size === 10, { what: "all ten messages", timeoutMs: 8_000 });
    });

    test("a full work queue refuses more with resource_exhausted", async () => {
      await mesh.admin.ensureWorkConsumer(node, 4);
      const publish = (i: number): Promise<void> =>
        a.publishStream(subjects.work(node), bytes("x"), { msgId: `f${i}` });
      for (let i = 0; i < 256; i += 64) await Promise.all(Array.from({ length: 64 }, (_, j) => publish(i + j)));
      await expect(publish(256)).rejects.toMatchObject({ code: "resource_exhausted" });
      await mesh.admin.purgeWork(node);
      await publish(257);
    });

    test("a missing consumer is reported, and consumed from as soon as it exists", async () => {
      const got: string[] = [];
      let missing = 0;
      consume(
        async (messages) => {
          for (const message of messages) {
            got.push(textOf(message.data));
            message.ack();
          }
        },
        {
          onMissing: async () => {
            missing += 1;
            if (missing === 1) throw new Error("cannot make it yet");
            await mesh.admin.ensureWorkConsumer(node, 4);
          },
        },
      );
      await until(() => missing >= 2, { what: "the second report" });
      await a.publishStream(subjects.work(node), bytes("late"), { msgId: "late" });
      await until(() => got.length === 1, { what: "the message" });
    });

    test("a consumer deleted while in use is reported, and consumed from when it is back", async () => {
      await mesh.admin.ensureWorkConsumer(node, 4);
      const got: string[] = [];
      let missing = 0;
      consume(
        async (messages) => {
          for (const message of messages) {
            got.push(textOf(message.data));
            message.ack();
          }
        },
        {
          onMissing: async () => {
            missing += 1;
            await mesh.admin.ensureWorkConsumer(node, 4);
          },
        },
      );
      await a.publishStream(subjects.work(node), bytes("1"), { msgId: "d1" });
      await until(() => got.length === 1, { what: "the first message" });
      await mesh.admin.removeWorkConsumer(node);
      await until(() => missing > 0, { what: "the report" });
      await a.publishStream(subjects.work(node), bytes("2"), { msgId: "d2" });
      await until(() => got.length === 2, { what: "the second message" });
    });

    test("the ingest consumer sees the events of all nodes", async () => {
      await mesh.admin.ensureIngestConsumer();
      const ids = systemIds();
      const nodes = [testNode().digest, testNode().digest];
      const got = new Set<string>();
      consume(
        async (messages) => {
          for (const message of messages) {
            got.add(message.subject);
            message.ack();
          }
        },
        { stream: STREAM.events, durable: INGEST_DURABLE },
      );
      const sent = nodes.map((digest) => subjects.events(digest, ulidOf(ids.next("run"))));
      for (const subject of sent) await a.publishStream(subject, bytes("e"), { msgId: subject });
      await until(() => sent.every((subject) => got.has(subject)), { what: "both events" });
    });

    test("administration is idempotent and lists the nodes' consumers", async () => {
      const other = testNode().digest;
      await mesh.admin.ensureStreams();
      await mesh.admin.ensureWorkConsumer(node, 2);
      await mesh.admin.ensureWorkConsumer(node, 9);
      await mesh.admin.ensureWorkConsumer(other, 1);
      await mesh.admin.ensureIngestConsumer();
      await mesh.admin.ensureIngestConsumer();
      expect((await mesh.admin.listWorkConsumers()).toSorted()).toEqual([node, other].toSorted());
      await mesh.admin.removeWorkConsumer(node);
      await mesh.admin.removeWorkConsumer(node);
      expect(await mesh.admin.listWorkConsumers()).toEqual([other]);
    });

    test("B2, B3: everything goes on after the connection was lost", async () => {
      await mesh.admin.ensureWorkConsumer(node, 4);
      const heard: string[] = [];
      const worked: string[] = [];
      const kinds: string[] = [];
      b.onStatus((status) => kinds.push(status.kind));
      a.serve("t.back", async (data) => data);
      b.subscribe("t.heard", (data) => heard.push(textOf(data)));
      consume(async (messages) => {
        for (const message of messages) {
          worked.push(textOf(message.data));
          message.ack();
        }
      });
      await served(b, "t.back");
      await mesh.interrupt();
      await until(() => a.status.kind === "connected" && b.status.kind === "connected", {
        timeoutMs: 30_000,
        what: "reconnection",
      });
      await served(b, "t.back");
      await until(() => {
        a.publish("t.heard", bytes("after"));
        return heard.length > 0;
      });
      await until(
        () =>
          a.publishStream(subjects.work(node), bytes("w"), { msgId: "after" }).then(
            () => true,
            () => false,
          ),
        { what: "the stream" },
      );
      await until(() => worked.includes("w"), { what: "the work", timeoutMs: 20_000 });
      expect(kinds).toContain("connecting");
      expect(kinds.at(-1)).toBe("connected");
    });

    test("a closed bus refuses use and says so", async () => {
      await b.close();
      await b.close();
      expect(b.status.kind).toBe("closed");
      b.publish("t.closed", bytes("dropped"));
      await expect(b.request("t.closed", bytes(""), { timeoutMs: 100 })).rejects.toMatchObject({ code: "unavailable" });
    });
  });
}
