/**
 * Streams and consumers of the mesh, created and kept in shape by the coordinator alone.
 *
 * A1  Every call is idempotent and starts from what the server has, so it also works on an empty store.
 * A2  What was asked is read back and compared: old servers drop settings they do not know without a word.
 */

import { isObject, MeshError } from "@mesh/kernel";

import type { Bus } from "./bus.ts";
import { parseReply, STREAM_ERROR, streamErrorOf } from "./stream-reply.ts";
import { INGEST_DURABLE, STREAM, subjects, workDurable } from "./subjects.ts";

/** Administration of the mesh's streams. */
export interface BusAdmin {
  /** Makes WORK and EV, or changes them to what they must be. */
  ensureStreams(): Promise<void>;
  /** The durable consumer of one node's work; `slots` bounds what it may hold unacknowledged. */
  ensureWorkConsumer(node: string, slots: number): Promise<void>;
  /** Removes a node's consumer; fine when it is not there. */
  removeWorkConsumer(node: string): Promise<void>;
  /** Drops the work waiting for a node. */
  purgeWork(node: string): Promise<void>;
  /** The durable consumer of the event ingester. */
  ensureIngestConsumer(): Promise<void>;
  /** Digests of the nodes that have a work consumer. */
  listWorkConsumers(): Promise<string[]>;
}

/** Sizes that depend on the deployment. */
export interface BusAdminOptions {
  /** 1 for a single server, 3 for a cluster. */
  readonly replicas?: number;
  readonly maxEventBytes?: number;
}

type Settings = Readonly<Record<string, unknown>>;

const MS = 1_000_000;
const SECOND = 1_000 * MS;
const HOUR = 3_600 * SECOND;
const CALL_MS = 5_000;
const MAX_EVENT_BYTES = 2 * 1024 ** 3;
const MAX_WORK_BYTES = 256 * 1024 ** 2;
const MAX_PAGES = 1_000;

/** The administration over a bus whose credentials allow it. */
export function busAdmin(bus: Pick<Bus, "request">, options: BusAdminOptions = {}): BusAdmin {
  return new NatsAdmin(bus, options);
}

function workStream(replicas: number): Settings {
  return {
    name: STREAM.work,
    subjects: [subjects.anyWork],
    retention: "workqueue",
    storage: "file",
    num_replicas: replicas,
    discard: "new",
    discard_new_per_subject: true,
    max_msgs_per_subject: 256,
    max_age: 24 * HOUR,
    max_bytes: MAX_WORK_BYTES,
    duplicate_window: 120 * SECOND,
  };
}

function eventStream(replicas: number, maxBytes: number): Settings {
  return {
    name: STREAM.events,
    subjects: [subjects.anyEvents],
    retention: "limits",
    storage: "file",
    num_replicas: replicas,
    discard: "old",
    max_msgs_per_subject: 50_000,
    max_age: 24 * HOUR,
    max_bytes: maxBytes,
    duplicate_window: 600 * SECOND,
  };
}

// Work is acknowledged as soon as its start is on the device's disk. What was delivered into a connection that broke counts
// as pending until then, and a few of those fill the small allowance of a node: so the wait is short.
const WORK_ACK_WAIT_S = 5;

// NOTE(why): no `backoff`. It would replace ack_wait by its first step, and a batch that waits its turn in a busy node
// would be delivered again and again; delays after a failure are asked for by the consumer itself.
function workConsumer(node: string, slots: number): Settings {
  return {
    durable_name: workDurable(node),
    filter_subject: subjects.work(node),
    deliver_policy: "all",
    ack_policy: "explicit",
    ack_wait: WORK_ACK_WAIT_S * SECOND,
    max_deliver: 5,
    max_ack_pending: slots + 2,
    replay_policy: "instant",
  };
}

const INGEST: Settings = {
  durable_name: INGEST_DURABLE,
  deliver_policy: "all",
  ack_policy: "explicit",
  ack_wait: 60 * SECOND,
  max_deliver: -1,
  max_ack_pending: 4_096,
  replay_policy: "instant",
};

class NatsAdmin implements BusAdmin {
  readonly #bus: Pick<Bus, "request">;
  readonly #options: BusAdminOptions;

  constructor(bus: Pick<Bus, "request">, options: BusAdminOptions) {
    this.#bus = bus;
    this.#options = options;
  }

  async ensureStreams(): Promise<void> {
    const replicas = this.#options.replicas ?? 1;
    await this.#ensureStream(workStream(replicas));
    await this.#ensureStream(eventStream(replicas, this.#options.maxEventBytes ?? MAX_EVENT_BYTES));
  }

  async ensureWorkConsumer(node: string, slots: number): Promise<void> {
    if (!Number.isInteger(slots) || slots < 1 || slots > 10_000) {
      throw new MeshError("invalid_argument", `${slots} is not a number of slots (1 to 10000)`);
    }
    await this.#ensureConsumer(STREAM.work, workConsumer(node, slots));
  }

  async removeWorkConsumer(node: string): Promise<void> {
    try {
      await this.#call(`CONSUMER.DELETE.${STREAM.work}.${workDurable(node)}`);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }

  async purgeWork(node: string): Promise<void> {
    try {
      await this.#call(`STREAM.PURGE.${STREAM.work}`, { filter: subjects.work(node) });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }

  async ensureIngestConsumer(): Promise<void> {
    await this.#ensureConsumer(STREAM.events, INGEST);
  }

  async listWorkConsumers(): Promise<string[]> {
    const names: string[] = [];
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const reply = await this.#call(`CONSUMER.NAMES.${STREAM.work}`, { offset: names.length });
      const found = Array.isArray(reply["consumers"]) ? reply["consumers"].map(String) : [];
      names.push(...found);
      if (found.length === 0 || names.length >= Number(reply["total"] ?? 0)) break;
    }
    return names.filter((name) => name.startsWith("n_")).map((name) => name.slice("n_".length));
  }

  async #ensureStream(wanted: Settings): Promise<void> {
    const name = String(wanted["name"]);
    const existing = await this.#config(`STREAM.INFO.${name}`);
    if (existing === undefined) await this.#call(`STREAM.CREATE.${name}`, wanted);
    else if (differences(wanted, existing).length === 0) return;
    else await this.#call(`STREAM.UPDATE.${name}`, { ...existing, ...wanted });
    await this.#check(`stream ${name}`, `STREAM.INFO.${name}`, wanted);
  }

  async #ensureConsumer(stream: string, wanted: Settings): Promise<void> {
    const name = String(wanted["durable_name"]);
    const info = `CONSUMER.INFO.${stream}.${name}`;
    const existing = await this.#config(info);
    if (existing !== undefined && differences(wanted, existing).length === 0) return;
    // The same call creates and updates; settings we do not name are left to the server.
    await this.#call(`CONSUMER.DURABLE.CREATE.${stream}.${name}`, { stream_name: stream, config: wanted });
    await this.#check(`consumer ${name} of ${stream}`, info, wanted);
  }

  async #check(what: string, info: string, wanted: Settings): Promise<void> {
    const wrong = differences(wanted, (await this.#config(info)) ?? {});
    if (wrong.length === 0) return;
    throw new MeshError(
      "failed_precondition",
      `the NATS server does not keep ${wrong.join(", ")} of ${what}; use nats-server 2.9 or newer, or delete it and start again`,
    );
  }

  async #config(info: string): Promise<Settings | undefined> {
    try {
      const reply = await this.#call(info);
      return isObject(reply["config"]) ? reply["config"] : {};
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  async #call(api: string, body?: Settings): Promise<Record<string, unknown>> {
    const subject = `$JS.API.${api}`;
    const data = body === undefined ? new Uint8Array() : Buffer.from(JSON.stringify(body), "utf8");
    return parseReply(await this.#bus.request(subject, data, { timeoutMs: CALL_MS }), subject);
  }
}

function isGone(error: unknown): boolean {
  const number = streamErrorOf(error);
  return number === STREAM_ERROR.consumerNotFound || number === STREAM_ERROR.streamNotFound;
}

function differences(wanted: Settings, actual: Settings): string[] {
  return Object.keys(wanted).filter((key) => JSON.stringify(wanted[key]) !== JSON.stringify(actual[key]));
}
