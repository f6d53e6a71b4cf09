/**
 * A steady load of counting runs by several clients: created with idempotency keys and repeated on failure, followed with a
 * cursor over every break, some cancelled, some bound to a device, a label or nothing.
 */

import { type Clock, errorText } from "@mesh/kernel";

import { ApiClient, ApiProblem } from "../harness/api-client.ts";
import type { Random } from "./random.ts";

const REQUEST_MS = 5000;
/** A reader takes a new connection at least this often, with its cursor. */
const READ_MS = 8000;
const RETRY_MS = 150;
/** No fault is allowed to keep the API away for longer. */
const INSIST_MS = 90_000;
// Heartbeats every 5 s repeat a cancel whose message was lost, then a run has 5 s to obey.
const CANCEL_MS = 12_000;

/** What a run of the load asks for. */
export interface CountWish {
  readonly count: number;
  /** Milliseconds between two numbers; 0 is as fast as possible. */
  readonly everyMs: number;
  readonly node?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly onLost?: "hold" | "replace" | "fail";
  readonly cancelAfterMs?: number;
  readonly priority?: number;
}

/** What a load needs. */
export interface LoadDeps {
  /** Addresses of the replicas that may be asked now. */
  readonly urls: () => readonly string[];
  readonly token: string;
  readonly scenario: string;
  readonly random: Random;
  readonly clock: Clock;
  /** Names of the devices that runs are bound to. */
  readonly nodes: readonly [string, ...string[]];
  /** Longest time for which the scenario's fault may delay a cancel. */
  readonly outageMs: number;
}

/** See the head of this file. */
export class Load {
  readonly readers: { runId: string; seqs: number[]; ended: boolean }[] = [];
  readonly creations: { key: string; runIds: string[] }[] = [];
  readonly cancels: { runId: string; atMs: number; boundMs: number }[] = [];
  /** Answers that no client should ever get. */
  readonly refusals: string[] = [];
  readonly #deps: LoadDeps;
  readonly #enough = new AbortController();
  readonly #giveUp = new AbortController();
  #clients: Promise<void>[] = [];
  #turn = 0;

  constructor(deps: LoadDeps) {
    this.#deps = deps;
  }

  start(clients: number): void {
    this.#clients = Array.from({ length: clients }, () => this.#client(this.#deps.random.fork()));
  }

  /** Starts no more runs and waits until those that are there have ended, for `quietMs` at most. */
  async stop(quietMs: number): Promise<void> {
    this.#enough.abort();
    const cancel = this.#deps.clock.after(quietMs, () => this.#giveUp.abort());
    await Promise.all(this.#clients);
    cancel();
  }

  /** Creates one run and returns its id, whatever happens to the coordinators meanwhile. */
  async create(wish: CountWish): Promise<string> {
    const { scenario } = this.#deps;
    const key = `${scenario}-${this.creations.length}`;
    const creation: { key: string; runIds: string[] } = { key, runIds: [] };
    this.creations.push(creation);
    const body = {
      assistant: "counter",
      input: `/count ${wish.count}${wish.everyMs === 0 ? "" : ` every ${wish.everyMs}ms`}`,
      requirements: { node: wish.node ?? "", labels: wish.labels ?? {} },
      on_lost: wish.onLost ?? "hold",
      priority: wish.priority ?? 0,
      metadata: { chaos: scenario, key, count: wish.count },
    };
    const answer = await this.#insist("POST", "/v1/workspaces/default/runs", body, { "idempotency-key": key });
    const { id } = answer["run"] as { id: string };
    creation.runIds.push(id);
    return id;
  }

  /** Reads a run to its end, resuming with the cursor; breaks the connection itself now and then. */
  async follow(runId: string, random: Random): Promise<void> {
    const reader: Load["readers"][number] = { runId, seqs: [], ended: false };
    this.readers.push(reader);
    while (!this.#giveUp.signal.aborted && !reader.ended) {
      try {
        reader.ended = await this.#read(reader, random.chance(0.3) ? random.between(1, 12) : Infinity);
      } catch (error) {
        this.#judge(error, `following ${runId}`);
        await this.#deps.clock.sleep(RETRY_MS, this.#giveUp.signal);
      }
    }
  }

  /** Reads until the end (true) or until `most` events have come. */
  async #read(reader: { readonly runId: string; readonly seqs: number[] }, most: number): Promise<boolean> {
    const signal = AbortSignal.any([this.#giveUp.signal, AbortSignal.timeout(READ_MS)]);
    let events = 0;
    for await (const event of this.#api().stream(reader.runId, reader.seqs.at(-1) ?? 0, signal)) {
      reader.seqs.push(event.seq);
      events += 1;
      if (events >= most) return false;
    }
    return true;
  }

  /** Asks a run to stop. */
  async cancel(runId: string): Promise<void> {
    await this.#insist("POST", `/v1/runs/${runId}/cancel`, {});
    this.cancels.push({ runId, atMs: this.#deps.clock.now(), boundMs: CANCEL_MS + this.#deps.outageMs });
  }

  async #client(random: Random): Promise<void> {
    while (!this.#enough.signal.aborted) {
      try {
        await this.#oneRun(random);
      } catch (error) {
        if (!this.#giveUp.signal.aborted) this.refusals.push(errorText(error));
        return;
      }
    }
  }

  async #oneRun(random: Random): Promise<void> {
    const wish = someWish(random, this.#deps.nodes);
    const runId = await this.create(wish);
    const reading = [this.follow(runId, random)];
    if (wish.cancelAfterMs !== undefined) {
      await this.#deps.clock.sleep(wish.cancelAfterMs, this.#giveUp.signal);
      await this.cancel(runId);
    } else if (random.chance(0.25)) reading.push(this.follow(runId, random.fork()));
    await Promise.all(reading);
  }

  // Repeats until there is an answer; only an answer that blames the client ends it.
  async #insist(method: string, path: string, body: unknown, headers = {}): Promise<Record<string, unknown>> {
    const endMs = this.#deps.clock.monotonic() + INSIST_MS;
    while (!this.#giveUp.signal.aborted && this.#deps.clock.monotonic() < endMs) {
      try {
        return await this.#api(AbortSignal.timeout(REQUEST_MS)).call(method, path, body, headers);
      } catch (error) {
        this.#judge(error, path);
        await this.#deps.clock.sleep(RETRY_MS, this.#giveUp.signal);
      }
    }
    throw new Error(`no answer to ${method} ${path} in ${INSIST_MS / 1000} s`);
  }

  #judge(error: unknown, what: string): void {
    if (!(error instanceof ApiProblem)) return;
    const isOurFault = error.status >= 400 && error.status < 500 && error.status !== 429 && error.status !== 408;
    if (isOurFault) throw new Error(`${what}: ${error.message}`, { cause: error });
  }

  #api(signal?: AbortSignal): ApiClient {
    const urls = this.#deps.urls();
    this.#turn += 1;
    const url = urls[this.#turn % urls.length] ?? "http://127.0.0.1:9";
    const send: typeof fetch = (input, init) => fetch(input, { ...init, ...(signal && { signal }) });
    return new ApiClient(url, this.#deps.token, send);
  }
}

function someWish(random: Random, nodes: readonly [string, ...string[]]): CountWish {
  const onLost = random.chance(0.3) ? "replace" : "hold";
  const where = random.pick<Pick<CountWish, "node" | "labels">>([
    { node: random.pick(nodes) },
    { labels: { zone: random.pick(["near", "far"]) } },
    {},
    {},
  ]);
  const work = random.pick<Pick<CountWish, "count" | "everyMs" | "cancelAfterMs">>([
    { count: 20, everyMs: 0 },
    { count: 100, everyMs: 5 },
    { count: 100, everyMs: 5 },
    { count: 500, everyMs: 5 },
    { count: 4000, everyMs: 5, cancelAfterMs: random.between(50, 1200) },
  ]);
  return { ...work, ...where, onLost };
}
