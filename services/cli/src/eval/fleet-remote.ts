/**
 * An eval on the devices of a workspace, for whoever shows it here.
 *
 * F1  The bundle is sent only where the workspace has none of its digest.
 * F2  Sending is safe to repeat: the eval is made under a key, cases go to positions, starting is idempotent.
 */

import type { EvalRemote, RemoteEnd, RemoteResult, RemoteStart, RemoteSuite } from "@mesh/eval/local";
import { Backoff, isObject, MeshError, retryable } from "@mesh/kernel";
import type {
  AddEvalCasesResponse,
  CreateEvalResponse,
  Eval,
  EvalPlacement,
  PlanEvalResponse,
  PushEvalBundleResponse,
  StartEvalResponse,
} from "@mesh/proto";

import type { Cli } from "../cli.ts";
import { apiPath, type Client } from "../client/client.ts";
import { packEval } from "./eval-bundle.ts";
import { endOf, followResults, readEval, startOf } from "./eval-follow.ts";

/** How the eval is made. */
export interface FleetOptions {
  readonly cli: Cli;
  readonly client: Client;
  readonly workspace: string;
  readonly placement: EvalPlacement;
  /** As the public interface takes them. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly runs: number;
  /** The input as the user wrote it. */
  readonly name: string;
  readonly isDetached: boolean;
  /** Aborts when the user leaves. */
  readonly signal: AbortSignal;
  readonly onPlan: (plan: PlanEvalResponse) => void;
  /** Told once the eval runs, before anything of it is shown. */
  readonly onStart: (state: Eval) => void;
  readonly onEval: (state: Eval) => void;
}

const MAX_CASE_BYTES = 1024 * 1024;
const CHUNK_BYTES = 3 * 1024 * 1024;
const CHUNK_CASES = 5_000;
const SEND_MS = 120_000;
const MAX_TRIES = 30;

/** Builds it. */
export function fleetRemote(options: FleetOptions): EvalRemote {
  return {
    plan: async ({ cases }) => {
      const { client, workspace, placement, runs } = options;
      const body = { workspace, placement, cases: cases.length, runs };
      options.onPlan(await client.post<PlanEvalResponse>("/v1/evals/plan", { body }));
    },
    begin: (suite) => begin(options, suite),
    results: (start) => results(options, start),
    end: (start) => ended(options, start),
  };
}

async function begin(options: FleetOptions, suite: RemoteSuite): Promise<RemoteStart | undefined> {
  const { cli, client } = options;
  const chunks = [...chunksOf(suite)];
  const bundle = await packEval(suite);
  const key = cli.ids.next("req");
  const create = (): Promise<CreateEvalResponse> => createDraft(options, suite, { digest: bundle.digest, key });
  const answer = await create().catch(async (error: unknown) => {
    if (!isUnknownBundle(error)) throw error;
    cli.terminal.progress(`pushing ${(bundle.sizeBytes / 1024).toFixed(0)} KB to ${options.workspace}`);
    const path = apiPath`/v1/workspaces/${options.workspace}/evals/bundles`;
    await client.post<PushEvalBundleResponse>(path, { bytes: bundle.bytes, timeoutMs: SEND_MS });
    return create();
  });
  const id = mustHave(answer.eval).id;
  let at = 0;
  for (const cases of chunks) {
    const body = { at, cases };
    await patiently(options, () =>
      client.post<AddEvalCasesResponse>(apiPath`/v1/evals/${id}/cases`, { body, timeoutMs: SEND_MS }),
    );
    at += cases.length;
  }
  const started = await patiently(options, () =>
    client.post<StartEvalResponse>(apiPath`/v1/evals/${id}/start`, { timeoutMs: SEND_MS }),
  );
  const state = mustHave(started.eval);
  options.onStart(state);
  return options.isDetached ? undefined : startOf(state);
}

function createDraft(
  { client, workspace, placement, settings, name }: FleetOptions,
  { agentId }: RemoteSuite,
  { digest, key }: { readonly digest: string; readonly key: string },
): Promise<CreateEvalResponse> {
  return client.post<CreateEvalResponse>("/v1/evals", {
    headers: { "idempotency-key": key },
    body: {
      workspace,
      assistant: agentId,
      name: name.slice(0, 500),
      bundle_digest: digest,
      placement,
      settings,
      draft: true,
    },
  });
}

function* chunksOf({ cases }: RemoteSuite): Generator<readonly object[]> {
  let chunk: object[] = [];
  let bytes = 0;
  for (const { id, raw } of cases) {
    const size = Buffer.byteLength(JSON.stringify(raw));
    if (size > MAX_CASE_BYTES) {
      throw new MeshError(
        "resource_exhausted",
        `case ${id} has ${size} bytes; on devices a case has at most ${MAX_CASE_BYTES}: put what is long into a file beside the cases`,
      );
    }
    if (chunk.length >= CHUNK_CASES || (chunk.length > 0 && bytes + size > CHUNK_BYTES)) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(raw);
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
}

/** Tries again while the coordinator is away: what was begun is not given up for its restart. */
async function patiently<T>({ cli, signal }: FleetOptions, work: () => Promise<T>): Promise<T> {
  const backoff = new Backoff(cli.clock, { firstMs: 250, maxMs: 2000 });
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      const failure = MeshError.from(error);
      const isPassing = retryable(failure.code) || failure.code === "resource_exhausted";
      if (!isPassing || tries >= MAX_TRIES || signal.aborted) throw failure;
      cli.terminal.progress(`trying again: ${failure.message}`);
      await backoff.wait(signal);
    }
  }
}

function results({ cli, client, signal, onEval }: FleetOptions, { evalId }: RemoteStart): AsyncIterable<RemoteResult> {
  return followResults({
    client,
    clock: cli.clock,
    id: evalId,
    signal,
    isPatient: true,
    onEval,
    onConnection: (lost) =>
      cli.terminal.progress(lost === undefined ? "connected again" : `connection lost, trying again: ${lost.message}`),
  });
}

async function ended(options: FleetOptions, { evalId }: RemoteStart): Promise<RemoteEnd> {
  if (options.signal.aborted) return { isComplete: false, isCancelled: false, warnings: [], durationMs: 0 };
  const state = await patiently(options, () => readEval(options.client, evalId));
  return endOf(state, options.cli.clock.now());
}

function mustHave(state: Eval | undefined): Eval {
  if (state === undefined) throw new MeshError("data_loss", "the coordinator told nothing about the eval");
  return state;
}

function isUnknownBundle(error: unknown): boolean {
  const details = error instanceof MeshError ? error.details : undefined;
  return isObject(details) && details["reason"] === "unknown_bundle";
}
