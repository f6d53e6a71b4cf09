import { credentials, Metadata } from "@grpc/grpc-js";
import { MeshError, until } from "@mesh/kernel";
import { NodeServiceService, RunServiceService } from "@mesh/proto";
import * as proto from "@mesh/proto";
import { bearer, callUnary, readStream } from "@mesh/rpc";
import { Client, type ServiceError } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";

import { hasScope, SCOPES } from "../auth/caller.ts";
import { OPERATIONS } from "./operations.ts";
import { callerWith, type RunningGateway, startGateway } from "./testing/running-gateway.ts";
import { scriptedApi, ScriptedRun } from "./testing/scripted-api.ts";

const RUN = "run_00000000000000000000000001";

const DEFINITIONS: Readonly<Record<string, Readonly<Record<string, MethodDefinition>>>> = {
  nodes: NodeServiceService,
  runs: RunServiceService,
  workspaces: proto.WorkspaceServiceService,
  apps: proto.AppServiceService,
  connectors: proto.ConnectorServiceService,
  tokens: proto.TokenServiceService,
  system: proto.SystemServiceService,
  accounts: proto.AccountServiceService,
  feed: proto.FeedServiceService,
  boards: proto.BoardServiceService,
  tasks: proto.TaskServiceService,
  inbox: proto.InboxServiceService,
  files: proto.FileServiceService,
  documents: proto.DocumentServiceService,
  agents: proto.AgentServiceService,
  chats: proto.ChatServiceService,
  webhooks: proto.WebhookServiceService,
  evals: proto.EvalServiceService,
} as never;

interface MethodDefinition {
  readonly path: string;
  readonly requestSerialize: (value: unknown) => Buffer;
  readonly responseDeserialize: (value: Buffer) => unknown;
}

/** Fields that a request must have, by method. */
const NEEDED: Readonly<Record<string, object>> = {
  joinNode: { token: "t", nkey: "U", signature: "s" },
  renewNode: { nkey: "U", at_ms: 1, signature: "s" },
  createRun: { workspace: "x", assistant: "a" },
  planEval: { workspace: "x" },
  createEval: { workspace: "x", assistant: "a" },
  listEvals: { workspace: "x" },
  answerRun: { run: "x", call_id: "c", decision: "approve" },
  createWorkspace: { name: "w" },
  putMember: { workspace: "x", user: "u", role: "viewer" },
  putConnector: { workspace: "x", connector: "c", type: "openai" },
  createToken: { name: "t" },
  changePassword: { password: "ten or more" },
  putSecret: { workspace: "x", name: "NAME", value: "v" },
  removeSecret: { workspace: "x", name: "NAME" },
  createBoard: { workspace: "x", name: "b" },
  moveTask: { task: "x", column: "c" },
  updateTasks: { workspace: "x", action: "archive" },
  putSchedule: { task: "x", schedule: { cron: "0 9 * * *" } },
  previewSchedule: { cron: "0 9 * * *" },
  markInbox: { state: "read" },
  runShare: { code: "x", input: "hi" },
  createWebhook: { workspace: "x", url: "https://example.com/" },
  putPushSubscription: { endpoint: "https://example.com/1", p256dh: "p", auth: "a" },
  readFile: { workspace: "x", path: "a" },
  writeFile: { workspace: "x", path: "a", bytes: Buffer.from("b") },
  moveFile: { workspace: "x", path: "a", to: "b" },
  copyFile: { workspace: "x", path: "a" },
  deleteFile: { workspace: "x", path: "a" },
  uploadDocument: { workspace: "x", name: "a", bytes: Buffer.from("b") },
  searchDocuments: { workspace: "x", query: "a" },
  createUpload: { workspace: "x", name: "a", bytes: Buffer.from("b") },
  pushEvalBundle: { workspace: "x", bundle: Buffer.from("b") },
  pushApp: { workspace: "x", app: "a", bundle: Buffer.from("b") },
};

function requestOf(operation: (typeof OPERATIONS)[number]): unknown {
  const given =
    NEEDED[operation.method] ??
    Object.fromEntries([...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, "x"]));
  return operation.complete(given as never);
}

interface Connection extends AsyncDisposable {
  unary(
    service: string,
    method: string,
    request: unknown,
    options?: { token?: string; deadline?: Date; signal?: AbortSignal },
  ): Promise<unknown>;
  follow(request: proto.FollowRunRequest, token?: string): AsyncGenerator<proto.FollowRunResponse>;
}

function dial(gateway: RunningGateway): Connection {
  const client = new Client(gateway.grpcAddress, credentials.createInsecure());
  const metadata = (token: string): Metadata => (token === "" ? new Metadata() : bearer(token));
  return {
    unary(service, method, request, { token = "admin", ...options } = {}) {
      const definition = DEFINITIONS[service]?.[method] as MethodDefinition;
      return callUnary(
        (message, meta, callOptions, callback) =>
          client.makeUnaryRequest(
            definition.path,
            definition.requestSerialize,
            definition.responseDeserialize,
            message,
            meta,
            callOptions,
            (error: ServiceError | null, response?: unknown) => callback(error, response),
          ),
        request,
        { metadata: metadata(token), ...options },
      );
    },
    follow(request, token = "admin") {
      const { followRun } = RunServiceService;
      return readStream(
        client.makeServerStreamRequest(
          followRun.path,
          followRun.requestSerialize,
          followRun.responseDeserialize,
          request,
          metadata(token),
        ),
      );
    },
    async [Symbol.asyncDispose]() {
      client.close();
    },
  };
}

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "ok",
    (error: unknown) => MeshError.from(error).code,
  );

/** Every operation, and every scope of each: more than the usual limit of a test on a busy machine. */
const MATRIX = { timeout: 60_000 };

describe("every operation over gRPC", () => {
  test("reaches the same handler with the same message as over HTTP, and needs the same scope", MATRIX, async () => {
    const { api, calls } = scriptedApi();
    const callers = new Map(SCOPES.map((scope) => [scope as string, callerWith([scope])]));
    await using gateway = await startGateway({ api, callers });
    await using connection = dial(gateway);
    for (const operation of OPERATIONS.filter(({ streaming }) => !streaming)) {
      const { service, method, scope, mayHaveCaller = false } = operation;
      for (const token of ["", "wrong", ...SCOPES]) {
        const isOpen = scope === "none" && !(mayHaveCaller && token === "wrong");
        const allowed = isOpen || SCOPES.some((own) => own === token && scope !== "none" && hasScope([own], scope));
        const expected = allowed ? "ok" : token === "" || token === "wrong" ? "unauthenticated" : "permission_denied";
        const code = await codeOf(connection.unary(service, method, requestOf(operation), { token }));
        expect([method, token, code]).toEqual([method, token, expected]);
      }
      expect(calls.at(-1)).toMatchObject({ method, request: requestOf(operation), call: { transport: "grpc" } });
    }
  });
});

describe("errors over gRPC", () => {
  test("a refused message is invalid_argument with the findings in its details", async () => {
    await using gateway = await startGateway({ api: scriptedApi().api });
    await using connection = dial(gateway);
    const request = proto.CreateRunRequest.fromPartial({ assistant: "a", priority: 1000 });
    await expect(connection.unary("runs", "createRun", request)).rejects.toMatchObject({
      code: "invalid_argument",
      details: {
        errors: [
          { field: "workspace", message: "is required" },
          { field: "priority", message: "is more than 100" },
        ],
      },
    });
  });

  test("the text of an internal error does not leave", async () => {
    const { api } = scriptedApi({ getRun: () => Promise.reject(new TypeError("secret detail")) });
    await using gateway = await startGateway({ api });
    await using connection = dial(gateway);
    const failure = await connection.unary("runs", "getRun", { run: "x" }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "internal", message: expect.stringMatching(/req_/) });
    expect(String(failure)).not.toContain("secret");
  });

  test("a client's deadline and its leaving abort the handler", async () => {
    const { api, calls } = scriptedApi({ getRun: () => new Promise(() => undefined) });
    await using gateway = await startGateway({ api });
    await using connection = dial(gateway);
    const late = connection.unary("runs", "getRun", { run: "x" }, { deadline: new Date(Date.now() + 100) });
    expect(await codeOf(late)).toBe("deadline_exceeded");
    await until(() => calls[0]?.call.signal.aborted);
    const leave = new AbortController();
    const left = connection.unary("runs", "getRun", { run: "x" }, { signal: leave.signal });
    await until(() => calls.length === 2);
    leave.abort();
    expect(await codeOf(left)).toBe("cancelled");
    await until(() => calls[1]?.call.signal.aborted);
  });
});

describe("followRun over gRPC", () => {
  test("reads the same seqs as SSE and ends after the terminal event", async () => {
    const run = new ScriptedRun();
    run.emit("message", { text: "hello", nested: { list: [1, null, "x"] } });
    await using gateway = await startGateway({ api: scriptedApi(run.handlers).api });
    await using connection = dial(gateway);
    const received: proto.RunEvent[] = [];
    const reading = (async () => {
      for await (const { event } of connection.follow({ run: RUN, after_seq: 0 }))
        if (event !== undefined) received.push(event);
    })();
    await until(() => received.length === 1);
    run.emit("message");
    run.end();
    await reading;
    const sse = await gateway.fetch(`/v1/runs/${RUN}/events`, { headers: { accept: "text/event-stream" } });
    const overSse = [...(await sse.text()).matchAll(/^data: (\{"run_id".*"kind".*)$/gm)].map(
      (match) => JSON.parse(match[1] ?? "") as unknown,
    );
    expect(received.map(({ seq }) => seq)).toEqual([1, 2, 3]);
    expect(overSse).toEqual(received);
  });

  test("a client that leaves releases the handler", async () => {
    const run = new ScriptedRun();
    run.emit("message");
    await using gateway = await startGateway({ api: scriptedApi(run.handlers).api });
    await using connection = dial(gateway);
    for await (const _ of connection.follow({ run: RUN, after_seq: 0 })) break;
    await until(() => run.followers === 0);
  });

  test("a stopping gateway ends streams with unavailable", async () => {
    const run = new ScriptedRun();
    const gateway = await startGateway({ api: scriptedApi(run.handlers).api });
    await using connection = dial(gateway);
    const ended = connection.follow({ run: RUN, after_seq: 0 }).next();
    const code = codeOf(ended);
    await until(() => run.followers === 1);
    await gateway.stop();
    expect(await code).toBe("unavailable");
  });

  test("without a token there is no stream", async () => {
    await using gateway = await startGateway({ api: scriptedApi().api });
    await using connection = dial(gateway);
    expect(await codeOf(connection.follow({ run: RUN, after_seq: 0 }, "").next())).toBe("unauthenticated");
  });
});
