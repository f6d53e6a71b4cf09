/**
 * Several tool calls at once, on one server or across servers.
 *
 * B1  Results are in the order of the requests, whatever order they come in.
 * B2  `any` and `race` return with the first that counts and cancel the others; `all` waits for every one.
 * B3  `settled` is told of each result when it comes, so that it can be kept before the others are there.
 */

import { errorText, type Json, MeshError } from "@mesh/kernel";

import type { McpCallOptions, McpClient } from "./client.ts";
import { parseToolResult, toolResultText } from "./tool-result.ts";

/** A call of a tool on a given server. */
export interface McpToolCall {
  readonly name: string;
  readonly arguments?: unknown;
}

/** A call of a tool on a named server. */
export interface McpToolRequest {
  readonly mcp: string;
  readonly tool: string;
  readonly arguments?: unknown;
}

/** What became of one request. A tool that says it failed has both: its answer, and the text of it as the error. */
export interface McpToolOutcome {
  readonly mcp: string;
  readonly tool: string;
  readonly result?: Json;
  readonly error?: string;
}

/** Options of a batch. */
export interface McpBatchOptions<Caller> extends Omit<McpCallOptions<Caller>, "onProgress"> {
  /** A request is done; called once each, never after the batch has returned. */
  readonly settled?: ((index: number, outcome: McpToolOutcome) => void) | undefined;
}

/** Finds the client of a server name as the caller's assistant knows it; throws when there is none. */
export type OpenClient<Caller> = (mcp: string) => McpClient<Caller>;

const MAX_REQUESTS = 100;
const MAX_PARALLEL = 16;

/** Calls tools one after the other; the first that cannot be called ends it. */
export async function callTools<Caller>(
  client: McpClient<Caller>,
  calls: readonly McpToolCall[],
  options: McpBatchOptions<Caller>,
): Promise<readonly Json[]> {
  const values: Json[] = [];
  for (const [index, request] of bounded(requestsOn(client, calls)).entries()) {
    const settled = await settle(index, request, () => client, options);
    if (settled.failure !== undefined) throw settled.failure;
    values.push(settled.outcome.result ?? null);
  }
  return values;
}

/** Calls tools at the same time; throws when one cannot be called, after all are done. */
export async function callToolsParallel<Caller>(
  client: McpClient<Caller>,
  calls: readonly McpToolCall[],
  options: McpBatchOptions<Caller>,
): Promise<readonly Json[]> {
  const settled = await settleAll(requestsOn(client, calls), () => client, options);
  const failed = settled.find(({ failure }) => failure !== undefined);
  if (failed?.failure !== undefined) throw failed.failure;
  return settled.map(({ outcome }) => outcome.result ?? null);
}

/** Calls tools across servers and waits for all. */
export async function callAll<Caller>(
  requests: readonly McpToolRequest[],
  open: OpenClient<Caller>,
  options: McpBatchOptions<Caller>,
): Promise<readonly McpToolOutcome[]> {
  return (await settleAll(requests, open, options)).map(({ outcome }) => outcome);
}

/** Returns with the first success: that, the failures before it, and null for the others. */
export function callAny<Caller>(
  requests: readonly McpToolRequest[],
  open: OpenClient<Caller>,
  options: McpBatchOptions<Caller>,
): Promise<readonly (McpToolOutcome | null)[]> {
  return settleFirst(requests, open, options, (outcome) => outcome.error === undefined);
}

/** Returns with the first that is done, however it went, and null for the others. */
export function callRace<Caller>(
  requests: readonly McpToolRequest[],
  open: OpenClient<Caller>,
  options: McpBatchOptions<Caller>,
): Promise<readonly (McpToolOutcome | null)[]> {
  return settleFirst(requests, open, options, () => true);
}

interface Settled {
  readonly outcome: McpToolOutcome;
  /** Why the call could not be made; undefined when the tool answered. */
  readonly failure?: MeshError;
}

async function settle<Caller>(
  index: number,
  request: McpToolRequest,
  open: OpenClient<Caller>,
  options: McpBatchOptions<Caller>,
): Promise<Settled> {
  const { mcp, tool } = request;
  const settled = await attempt(request, open, options).catch((error: unknown): Settled => {
    return { outcome: { mcp, tool, error: errorText(error) }, failure: MeshError.from(error) };
  });
  if (options.signal?.aborted !== true) options.settled?.(index, settled.outcome);
  return settled;
}

async function attempt<Caller>(
  request: McpToolRequest,
  open: OpenClient<Caller>,
  options: McpBatchOptions<Caller>,
): Promise<Settled> {
  const { mcp, tool } = request;
  if (typeof mcp !== "string" || typeof tool !== "string" || tool === "") {
    throw new MeshError(
      "invalid_argument",
      `a request needs the names of a server and of a tool, such as {mcp, tool, arguments}`,
    );
  }
  const { caller, signal, timeoutMs } = options;
  const answer = await open(mcp).callToolRaw(tool, request.arguments, { caller, signal, timeoutMs });
  const result = parseToolResult(answer);
  return {
    outcome: answer.isError === true ? { mcp, tool, result, error: toolResultText(answer) } : { mcp, tool, result },
  };
}

async function settleAll<Caller>(
  requests: readonly McpToolRequest[],
  open: OpenClient<Caller>,
  options: McpBatchOptions<Caller>,
): Promise<readonly Settled[]> {
  const results: Settled[] = [];
  const queue = bounded(requests).entries();
  const worker = async (): Promise<void> => {
    for (const [index, request] of queue) results[index] = await settle(index, request, open, options);
  };
  await Promise.all(Array.from({ length: MAX_PARALLEL }, worker));
  refuseCancelled(options);
  return results;
}

async function settleFirst<Caller>(
  requests: readonly McpToolRequest[],
  open: OpenClient<Caller>,
  options: McpBatchOptions<Caller>,
  counts: (outcome: McpToolOutcome) => boolean,
): Promise<readonly (McpToolOutcome | null)[]> {
  const stop = new AbortController();
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal]);
  const results: (McpToolOutcome | null)[] = bounded(requests).map(() => null);
  let left = requests.length;
  await new Promise<void>((resolve) => {
    if (left === 0) resolve();
    for (const [index, request] of requests.entries()) {
      void settle(index, request, open, { ...options, signal }).then(({ outcome }) => {
        if (stop.signal.aborted) return;
        results[index] = outcome;
        left -= 1;
        if (left > 0 && !counts(outcome)) return;
        // Now, not after the await below: a result that comes in between is one too many.
        stop.abort();
        resolve();
      });
    }
  });
  refuseCancelled(options);
  return results;
}

function refuseCancelled(options: { readonly signal?: AbortSignal | undefined }): void {
  if (options.signal?.aborted === true) throw new MeshError("cancelled", "the tool calls were cancelled");
}

function requestsOn<Caller>(client: McpClient<Caller>, calls: readonly McpToolCall[]): readonly McpToolRequest[] {
  return calls.map(({ name, arguments: args }) => ({ mcp: client.config.id, tool: name, arguments: args }));
}

function bounded(requests: readonly McpToolRequest[]): readonly McpToolRequest[] {
  if (requests.length <= MAX_REQUESTS) return requests;
  throw new MeshError("invalid_argument", `${requests.length} tool calls at once; at most ${MAX_REQUESTS} are allowed`);
}
