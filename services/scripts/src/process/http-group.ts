/** The group `http`: `http.Get(url, query, headers)` and its sisters. */

import type { Json } from "@mesh/kernel";

import type { HttpClient } from "./http-client.ts";
import type { HttpRequest } from "./http-message.ts";
import type { ProcessArgs } from "./process-args.ts";
import type { ProcessCaller } from "./process-caller.ts";
import { functionGroup, type ProcessFunction, type ProcessGroup, type ProcessResult } from "./process-group.ts";

/** Calls another process; what `http.Stream` hands each line to. */
export type CallProcess = (name: string, args: readonly Json[], caller: ProcessCaller) => Promise<ProcessResult>;

/** `http.Get Head Post Put Patch Delete Send Stream`. */
export function httpGroup(client: Pick<HttpClient, "send" | "stream">, callProcess: CallProcess): ProcessGroup {
  const send = (request: HttpRequest, { signal }: ProcessCaller): Promise<Json> => client.send(request, signal);
  // (url, payload, query, headers)
  const withPayload =
    (method: string): ProcessFunction =>
    (args, caller) =>
      send(
        { method, url: args.text(0, "url"), payload: args.json(1), query: args.json(2), headers: args.json(3) },
        caller,
      );
  return functionGroup({
    Get: (args, caller) =>
      send({ method: "GET", url: args.text(0, "url"), query: args.json(1), headers: args.json(2) }, caller),
    Head: withPayload("HEAD"),
    Post: (args, caller) => {
      const request = { method: "POST", url: args.text(0, "url"), payload: args.json(1), files: args.json(2) };
      return send({ ...request, query: args.json(3), headers: args.json(4) }, caller);
    },
    Put: withPayload("PUT"),
    Patch: withPayload("PATCH"),
    Delete: withPayload("DELETE"),
    Send: (args, caller) => send({ ...methodFirst(args, 2), files: args.json(5) }, caller),
    // (method, url, process that gets each line, payload, query, headers); the process ends the stream by returning 0.
    Stream: (args, caller) => {
      const handler = args.text(2, "process that gets each line");
      return client.stream(
        methodFirst(args, 3),
        async (line) => (await callProcess(handler, [line], caller)) !== 0,
        caller.signal,
      );
    },
  });
}

function methodFirst(args: ProcessArgs, payloadAt: number): HttpRequest {
  return {
    method: args.text(0, "method"),
    url: args.text(1, "url"),
    payload: args.json(payloadAt),
    query: args.json(payloadAt + 1),
    headers: args.json(payloadAt + 2),
  };
}
