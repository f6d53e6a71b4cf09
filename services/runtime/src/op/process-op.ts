/** `Process`, `http`, `Store`, `Query` and the rest of the globals that are processes behind another face. */

import { translator } from "@mesh/assistants";
import { isObject, type Json, MeshError } from "@mesh/kernel";
import type { ProcessCaller, ProcessOutcome } from "@mesh/scripts";

import { toldError } from "../told-error.ts";
import type { OpCaller, OpHandlers } from "./op-table.ts";
import { together, type Until } from "./race.ts";

const MAX_AT_ONCE = 64;
const MAX_DELAY_MS = 3_600_000;
const MAX_LOG_CHARS = 16 * 1024;

/** Handlers of processes and what is built from them. */
export const PROCESS_OPS: OpHandlers = {
  "process.Call": (caller, [name, args], io) => callProcess(caller, name, args, io.signal),
  "process.All": (caller, [requests], io) => several(caller, requests, "all", io.signal),
  "process.Any": (caller, [requests], io) => several(caller, requests, "any", io.signal),
  "process.Race": (caller, [requests], io) => several(caller, requests, "race", io.signal),
  "time.After": (caller, [delayMs, name, args]) => {
    const { context } = caller;
    if (!(delayMs >= 0 && delayMs <= MAX_DELAY_MS)) {
      throw new MeshError("invalid_argument", `time.After waits 0 to ${MAX_DELAY_MS} ms`);
    }
    context.shared.later(delayMs, (over) => callProcess(caller, name, args, AbortSignal.any([context.signal, over])));
    return undefined;
  },
  "http.Send": (caller, [request], io) => {
    const { method = "GET", url = "", payload = null, query = null, headers = null, files = null } = request;
    return callProcess(caller, "http.Send", [method, url, payload, query, headers, files], io.signal);
  },
  "http.Stream": async ({ context }, [request, onLine], io) => {
    const { scripts } = context.shared.ports;
    if (scripts === undefined)
      throw new MeshError("failed_precondition", "http.Stream: this run cannot execute scripts");
    const { method = "GET", url = "", payload = null, query = null, headers = null } = request;
    if (typeof method !== "string" || typeof url !== "string") {
      throw new MeshError("invalid_argument", "http.Stream needs a method and a url");
    }
    // The script ends the stream by returning 0 or false.
    const isWanted = async (line: string): Promise<boolean> => {
      const answer = await io.callback(onLine, [line]);
      return answer !== 0 && answer !== false;
    };
    return scripts.http.stream({ method, url, payload, query, headers }, isWanted, io.signal);
  },
  "store.Call": (caller, [store, method, args], io) =>
    callProcess(caller, `stores.${store}.${method}`, args, io.signal),
  "query.Call": (caller, [connector, method, query], io) =>
    callProcess(caller, `query.${connector}.${method}`, [query], io.signal),
  "i18n.L": ({ context, assistantId }, [text]) => {
    const { app } = context.shared.input;
    const assistant = app.assistants.get(assistantId);
    return assistant === undefined ? text : (translator(assistant, context.locale, app)(text) ?? text);
  },
  "log.Write": async ({ context: { shared }, assistantId }, [source, level, text]) => {
    shared.write({
      type: "log",
      props: { level, source, assistant_id: assistantId, text: text.slice(0, MAX_LOG_CHARS) },
    });
    // A script that writes without end waits for its reader.
    await shared.drained();
    return undefined;
  },
};

/** Calls a process for an agent's script. */
export async function callProcess(
  caller: OpCaller,
  name: string,
  args: readonly Json[],
  signal: AbortSignal,
): Promise<Json | undefined> {
  const { scripts } = caller.context.shared.ports;
  if (scripts === undefined) throw new MeshError("failed_precondition", `${name}: this run cannot execute processes`);
  return (await scripts.processes()).call(name, args, processCaller(caller, signal));
}

function processCaller(caller: OpCaller, signal: AbortSignal): ProcessCaller {
  const { context } = caller;
  const { runId, workspaceId, userId } = context.shared.input.context;
  const { chatId } = context;
  return {
    signal,
    scope: { runId, workspaceId, userId, teamId: workspaceId, ...(chatId === undefined ? {} : { chatId }) },
    locale: context.locale,
    ctx: caller,
  };
}

function several(
  caller: OpCaller,
  requests: readonly Json[],
  until: Until,
  signal: AbortSignal,
): Promise<readonly (ProcessOutcome | null)[]> {
  if (requests.length > MAX_AT_ONCE) {
    throw new MeshError("invalid_argument", `${requests.length} processes at once; ${MAX_AT_ONCE} are the most`);
  }
  const jobs = requests.map((request, index) => async (stopped: AbortSignal): Promise<ProcessOutcome> => {
    const { process, args = [] } = isObject(request) ? request : {};
    if (typeof process !== "string" || !Array.isArray(args)) {
      return { error: `request ${index} must be {process, args}` };
    }
    try {
      const data = await callProcess(caller, process, args as readonly Json[], stopped);
      return data === undefined ? {} : { data };
    } catch (error) {
      return { error: toldError(error, caller.context.shared).message };
    }
  });
  return together(jobs, until, signal);
}
