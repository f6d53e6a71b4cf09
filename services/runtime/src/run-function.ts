/**
 * One function of an app's scripts, run by itself: tests, and hooks around the cases of an eval. It has the whole `ctx` of an
 * assistant, and calls agents, models and processes as a hook would.
 */

import { type Json, MeshError } from "@mesh/kernel";

import { callAgent } from "./agent-call.ts";
import { AgentContext } from "./agent-context.ts";
import { lazyOps } from "./op/lazy-ops.ts";
import { type Emit, OutputQueue } from "./output-queue.ts";
import { OutputIds, OutputStream } from "./output-stream.ts";
import type { RunInput, RunPorts } from "./run-input.ts";
import { RunShared } from "./run-shared.ts";
import { callScript, type FunctionCall } from "./script-call.ts";
import { Trace } from "./trace.ts";

/** Runs the function for the assistant of `input`; what it writes goes into `emit`. Throws what the function threw. */
export async function runFunction(
  call: FunctionCall,
  input: RunInput,
  ports: RunPorts & { readonly emit: Emit },
  signal: AbortSignal,
): Promise<Json | undefined> {
  if (signal.aborted) throw new MeshError("cancelled", "the run was cancelled");
  const queue = new OutputQueue(ports.emit);
  const shared = new RunShared(input, ports, {
    write: (message) => queue.push(message),
    drained: () => queue.drained(),
    callAgent,
    opsOf: lazyOps,
  });
  const out = new OutputStream(ports.clock, (message) => shared.write(message), { ids: new OutputIds() });
  const trace = new Trace(input.context.runId, ports.clock, () => undefined);
  const context = new AgentContext({ shared, out, trace, signal, depth: 0 });
  try {
    return await callScript(call, { context, assistantId: input.assistantId }, signal);
  } finally {
    shared.close();
    await queue.drained();
  }
}
