/**
 * Plain async handlers as grpc-js handlers.
 *
 * C1  Every unary call has a deadline: the client's, at most `maxUnaryMs`.
 * C2  The handler's signal aborts at the deadline, when the client goes away and when the server is forced to stop.
 * C3  A stream is pulled: the next message is asked for only when the client has room for it.
 * C4  Nothing thrown reaches the client except through `toStatus`.
 */

import type {
  handleServerStreamingCall,
  handleUnaryCall,
  Metadata,
  ServerUnaryCall,
  ServerWritableStream,
  ServiceDefinition,
  UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { type Clock, MeshError } from "@mesh/kernel";

import { toStatus } from "./status.ts";

/** What a handler knows about its call. */
export interface RpcCall {
  /** Such as `/yao.mesh.v1.RunService/CreateRun`. */
  readonly path: string;
  readonly metadata: Metadata;
  /** Address of the client. */
  readonly peer: string;
  readonly signal: AbortSignal;
  readonly requestId: string;
}

/** Answers one request with one message. */
export type RpcUnary = (request: unknown, call: RpcCall) => Promise<unknown>;

/** Answers one request with a stream of messages. */
export type RpcStreaming = (request: unknown, call: RpcCall) => AsyncIterable<unknown>;

/** The handlers of one service by method name as in its definition (lower camel case). */
export interface RpcService {
  readonly definition: ServiceDefinition;
  readonly unary: Readonly<Record<string, RpcUnary>>;
  readonly streaming: Readonly<Record<string, RpcStreaming>>;
}

/** What serving needs of its surroundings. */
export interface ServeDeps {
  readonly clock: Clock;
  /** Id of a new call. */
  readonly requestId: () => string;
  /** Told about every failed call; the place to log what clients must not see. */
  readonly onError: (error: MeshError, call: Pick<RpcCall, "path" | "requestId" | "peer">) => void;
  readonly maxUnaryMs: number;
}

/** A service implementation for `Server.addService`; throws when a method has no handler. */
export function grpcServe(service: RpcService, deps: ServeDeps): UntypedServiceImplementation {
  const implementation: UntypedServiceImplementation = {};
  for (const [name, method] of Object.entries(service.definition)) {
    const unary = service.unary[name];
    const streaming = service.streaming[name];
    if (method.responseStream && streaming !== undefined) {
      implementation[name] = serveStream(streaming, method.path, deps);
    } else if (!method.responseStream && unary !== undefined) {
      implementation[name] = serveUnary(unary, method.path, deps);
    } else {
      throw new MeshError("internal", `rpc ${method.path} has no handler`);
    }
  }
  return implementation;
}

function serveUnary(handler: RpcUnary, path: string, deps: ServeDeps): handleUnaryCall<unknown, unknown> {
  return (call, callback) => {
    const scope = openScope(call, path, deps);
    void answer(handler, call, scope, deps).then((answered) => {
      // oxlint-disable-next-line promise/no-callback-in-promise -- grpc-js knows only the callback
      callback(answered.error, answered.response);
    });
  };
}

interface Answered {
  readonly error: ReturnType<typeof toStatus> | null;
  readonly response?: unknown;
}

async function answer(handler: RpcUnary, call: AnyCall, scope: Scope, deps: ServeDeps): Promise<Answered> {
  const limitMs = Math.max(0, Math.min(deps.maxUnaryMs, msUntil(call.getDeadline(), deps.clock)));
  const cancelTimer = deps.clock.after(limitMs, () => {
    scope.abort(new MeshError("deadline_exceeded", `the call took longer than ${Math.round(limitMs)} ms; try again`));
  });
  try {
    return { error: null, response: await settle(handler, call.request, scope.rpc) };
  } catch (thrown) {
    return { error: fail(thrown, scope.rpc, deps) };
  } finally {
    cancelTimer();
  }
}

/** The handler's result, or the reason of an abort as soon as there is one: a handler that ignores its signal holds up no client. */
function settle(handler: RpcUnary, request: unknown, rpc: RpcCall): Promise<unknown> {
  const aborted = new Promise<never>((_resolve, reject) => {
    rpc.signal.addEventListener("abort", () => reject(MeshError.from(rpc.signal.reason)), { once: true });
  });
  return Promise.race([aborted, handler(request, rpc)]);
}

function serveStream(
  handler: RpcStreaming,
  path: string,
  deps: ServeDeps,
): handleServerStreamingCall<unknown, unknown> {
  return (call) => {
    const scope = openScope(call, path, deps);
    const deadlineMs = msUntil(call.getDeadline(), deps.clock);
    const cancelTimer = Number.isFinite(deadlineMs)
      ? deps.clock.after(Math.min(Math.max(0, deadlineMs), MAX_TIMER_MS), () => {
          scope.abort(
            new MeshError("deadline_exceeded", "the stream's deadline has passed; resume after the last seq"),
          );
        })
      : () => undefined;
    void pump(handler, call, scope.rpc)
      .then(
        () => call.end(),
        (thrown: unknown) => call.emit("error", fail(thrown, scope.rpc, deps)),
      )
      .finally(cancelTimer);
  };
}

/** The longest delay a timer takes without overflowing. */
const MAX_TIMER_MS = 2 ** 31 - 1;

async function pump(handler: RpcStreaming, call: ServerWritableStream<unknown, unknown>, rpc: RpcCall): Promise<void> {
  for await (const message of handler(call.request, rpc)) {
    rpc.signal.throwIfAborted();
    if (!call.write(message)) await drained(call, rpc.signal);
  }
  rpc.signal.throwIfAborted();
}

function drained(call: ServerWritableStream<unknown, unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (): void => {
      call.off("drain", finish);
      signal.removeEventListener("abort", finish);
      if (signal.aborted) reject(MeshError.from(signal.reason));
      else resolve();
    };
    call.on("drain", finish);
    signal.addEventListener("abort", finish, { once: true });
    if (signal.aborted) finish();
  });
}

interface Scope {
  readonly rpc: RpcCall;
  readonly abort: (reason: MeshError) => void;
}

type AnyCall = ServerUnaryCall<unknown, unknown> | ServerWritableStream<unknown, unknown>;

function openScope(call: AnyCall, path: string, deps: ServeDeps): Scope {
  const controller = new AbortController();
  const gone = (): void => controller.abort(new MeshError("cancelled", "the client has gone away"));
  call.on("cancelled", gone);
  if (call.cancelled) gone();
  return {
    rpc: {
      path,
      metadata: call.metadata,
      peer: call.getPeer(),
      signal: controller.signal,
      requestId: deps.requestId(),
    },
    abort: (reason) => controller.abort(reason),
  };
}

function fail(thrown: unknown, rpc: RpcCall, deps: ServeDeps): ReturnType<typeof toStatus> {
  const error = MeshError.from(thrown);
  deps.onError(error, rpc);
  return toStatus(error, rpc.requestId);
}

function msUntil(deadline: Date | number, clock: Clock): number {
  return (typeof deadline === "number" ? deadline : deadline.getTime()) - clock.now();
}
