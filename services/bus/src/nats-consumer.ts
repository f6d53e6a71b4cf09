/**
 * A supervised pull consumer.
 *
 * C1  While the handler runs, at most about two batches are held here; the rest waits in the stream.
 * C2  A lost connection, deleted consumer, deleted stream or silent server ends one binding; the loop binds again.
 * C3  Messages held when a binding or the service ends are given back at once.
 */

import { Backoff, type Clock, errorText, MeshError, type Service } from "@mesh/kernel";
import { type ConsumerMessages, jetstream, JetStreamApiCodes, JetStreamApiError, type JsMsg } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/nats-core";

import type { ConsumerRef, StreamMessage } from "./bus.ts";
import type { BusLog, Link } from "./link.ts";
import { StreamQueue } from "./stream-queue.ts";

/** What a consumer works with. */
export interface ConsumerDeps {
  readonly link: Link;
  readonly clock: Clock;
  readonly log: BusLog;
}

/** What a consumer does with its messages. */
export interface ConsumerWork {
  readonly handler: (messages: readonly StreamMessage[]) => Promise<void>;
  readonly maxBatch: number;
  readonly onMissing?: () => Promise<void> | void;
}

const PULL_MS = 30_000;
// Two missed heartbeats make the client look whether the consumer still exists.
const IDLE_HEARTBEAT_MS = 5_000;

/** The consumer as a service; ends when its signal aborts, rejects when the bus was refused for good. */
export function natsConsumer(deps: ConsumerDeps, ref: ConsumerRef, work: ConsumerWork): Service {
  return {
    name: `consumer ${ref.stream}/${ref.durable}`,
    run: (signal) => supervise(deps, ref, work, signal),
  };
}

async function supervise(deps: ConsumerDeps, ref: ConsumerRef, work: ConsumerWork, signal: AbortSignal): Promise<void> {
  const { link, log } = deps;
  const backoff = new Backoff(deps.clock, { firstMs: 250, maxMs: 10_000, heldMs: 1_000 });
  while (!signal.aborted && !link.closing.aborted) {
    const connection = await link.connected(signal);
    if (connection === undefined) break;
    try {
      const messages = await bind(connection, ref, work.maxBatch);
      backoff.succeeded();
      await consume(deps, messages, work, signal);
      if (signal.aborted || connection.isClosed()) continue;
    } catch (error) {
      if (signal.aborted || connection.isClosed()) continue;
      log("bus_consumer_lost", { ...ref, error: errorText(error) });
      if (isMissing(error)) await tellMissing(deps, ref, work);
    }
    await backoff.wait(AbortSignal.any([signal, link.closing]));
  }
  if (link.status.kind === "closed" && !signal.aborted && !link.closing.aborted) {
    throw new MeshError("unauthenticated", link.status.reason);
  }
}

async function bind(connection: NatsConnection, ref: ConsumerRef, maxBatch: number): Promise<ConsumerMessages> {
  // Needs the permission to read this consumer's info, and none to administer anything.
  const consumer = await jetstream(connection, { checkAPI: false }).consumers.get(ref.stream, ref.durable);
  return await consumer.consume({
    max_messages: maxBatch,
    expires: PULL_MS,
    idle_heartbeat: IDLE_HEARTBEAT_MS,
    // Without this the client goes silent when the consumer is deleted: no end, no error.
    abort_on_missing_resource: true,
  });
}

async function consume(
  deps: ConsumerDeps,
  messages: ConsumerMessages,
  work: ConsumerWork,
  signal: AbortSignal,
): Promise<void> {
  const queue = new StreamQueue(work.maxBatch);
  const stop = (): void => {
    queue.end();
    messages.stop();
  };
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  const filling = fill(queue, messages);
  // It may fail while the handler still works; the failure is looked at after that.
  filling.catch(() => undefined);
  try {
    await queue.drain(work.handler, (error) => deps.log("bus_consumer_failed", { error: errorText(error) }));
    await filling;
  } finally {
    signal.removeEventListener("abort", stop);
    queue.giveBack();
  }
}

async function fill(queue: StreamQueue, messages: ConsumerMessages): Promise<void> {
  try {
    // To the end even when the queue takes no more: it gives back each message the client had received already.
    for await (const message of messages) await queue.put(toStreamMessage(message));
  } finally {
    queue.end();
  }
}

async function tellMissing(deps: ConsumerDeps, ref: ConsumerRef, work: ConsumerWork): Promise<void> {
  try {
    await work.onMissing?.();
  } catch (error) {
    deps.log("bus_consumer_missing_unhandled", { ...ref, error: errorText(error) });
  }
}

function isMissing(error: unknown): boolean {
  if (error instanceof JetStreamApiError) {
    return error.code === JetStreamApiCodes.ConsumerNotFound || error.code === JetStreamApiCodes.StreamNotFound;
  }
  return error instanceof Error && /^(consumer|stream) (deleted|not found)$/i.test(error.message);
}

function toStreamMessage(message: JsMsg): StreamMessage {
  let settled = false;
  const once = (settle: () => void): void => {
    if (settled) return;
    settled = true;
    try {
      settle();
    } catch {
      // The connection is gone; the server delivers again when the time to ack has passed.
    }
  };
  return {
    subject: message.subject,
    data: message.data,
    deliveryCount: message.info.deliveryCount,
    ack: () => once(() => message.ack()),
    nak: (delayMs) => once(() => message.nak(delayMs)),
    term: () => once(() => message.term()),
  };
}
