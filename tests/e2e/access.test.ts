/** Who may do what with which token, over HTTP, gRPC and the event socket alike. */

import { type ServiceError, status as GRPC } from "@grpc/grpc-js";
import { demoAppDirectory } from "@mesh/assistants";
import { systemIds, until } from "@mesh/kernel";
import {
  AppServiceService,
  ConnectorServiceService,
  CreateRunRequest,
  NodeServiceService,
  RunServiceService,
  SystemServiceService,
  TokenServiceService,
  WorkspaceServiceService,
} from "@mesh/proto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";

import { ApiClient, ApiProblem, refusalOf } from "../harness/api-client.ts";
import { type RunView, TestMesh } from "../harness/test-mesh.ts";
import { callGrpc, type GrpcMethod } from "./grpc-call.ts";

let mesh: TestMesh;

beforeAll(async () => {
  mesh = await TestMesh.start({ nodes: [{ name: "mine" }, { name: "other" }] });
  await mesh.pushApp("demo", demoAppDirectory);
});

afterAll(() => mesh?.stop());

/** One operation that needs a scope, over both transports. */
interface Guarded {
  readonly scope: string;
  readonly http: readonly [method: string, path: string, body?: unknown];
  readonly grpc: GrpcMethod;
  readonly request: unknown;
}

const GUARDED: readonly Guarded[] = [
  {
    scope: "read",
    http: ["GET", "/v1/nodes"],
    grpc: { service: NodeServiceService, method: "listNodes" },
    request: {},
  },
  {
    scope: "runs",
    http: ["POST", "/v1/workspaces/default/runs", { assistant: "none" }],
    grpc: { service: RunServiceService, method: "createRun" },
    request: CreateRunRequest.fromPartial({ workspace: "default", assistant: "none" }),
  },
  {
    scope: "apps",
    http: ["DELETE", "/v1/workspaces/default/apps/none"],
    grpc: { service: AppServiceService, method: "removeApp" },
    request: { workspace: "default", app: "none" },
  },
  {
    scope: "connectors",
    http: ["DELETE", "/v1/workspaces/default/connectors/none"],
    grpc: { service: ConnectorServiceService, method: "removeConnector" },
    request: { workspace: "default", connector: "none" },
  },
  {
    scope: "nodes",
    http: ["DELETE", "/v1/nodes/none"],
    grpc: { service: NodeServiceService, method: "removeNode" },
    request: { node: "none" },
  },
  {
    scope: "workspaces",
    http: ["DELETE", "/v1/workspaces/none"],
    grpc: { service: WorkspaceServiceService, method: "deleteWorkspace" },
    request: { workspace: "none", force: false },
  },
  {
    scope: "tokens",
    http: ["DELETE", "/v1/tokens/none"],
    grpc: { service: TokenServiceService, method: "revokeToken" },
    request: { token: "none" },
  },
  {
    scope: "admin",
    http: ["GET", "/v1/audit"],
    grpc: { service: SystemServiceService, method: "listAudit" },
    request: { limit: 1, cursor: "" },
  },
];

/** Whether a call was refused for its token, or got further. */
async function httpVerdict(token: string, { http }: Guarded): Promise<string> {
  const [method, path, body] = http;
  try {
    await new ApiClient(mesh.api.url, token).call(method, path, body);
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    if (error.status === 401) return "unauthenticated";
    if (error.status === 403) return "permission_denied";
    if (error.status !== 404) throw error;
  }
  return "allowed";
}

async function grpcVerdict(token: string, { grpc, request }: Guarded): Promise<string> {
  try {
    await callGrpc({ address: mesh.grpcAddress, token }, grpc, request);
  } catch (error) {
    const { code } = error as ServiceError;
    if (code === GRPC.UNAUTHENTICATED) return "unauthenticated";
    if (code === GRPC.PERMISSION_DENIED) return "permission_denied";
    if (code !== GRPC.NOT_FOUND && code !== GRPC.INVALID_ARGUMENT) throw error;
  }
  return "allowed";
}

async function newToken(body: Record<string, unknown>): Promise<{ id: string; secret: string }> {
  const made = await mesh.api.call<{ token: { id: string }; secret: string }>("POST", "/v1/tokens", body);
  return { id: made.token.id, secret: made.secret };
}

describe("the scopes of a token", () => {
  test.each(GUARDED.map(({ scope }) => scope))(
    "%s opens what it names and reading, over HTTP and gRPC alike",
    async (scope) => {
      const { secret } = await newToken({ name: `only-${scope}`, scopes: [scope] });
      for (const operation of GUARDED) {
        const isAllowed = scope === "admin" || operation.scope === scope || operation.scope === "read";
        const expected = [operation.scope, isAllowed ? "allowed" : "permission_denied"];
        expect([operation.scope, await httpVerdict(secret, operation)]).toEqual(expected);
        expect([operation.scope, await grpcVerdict(secret, operation)]).toEqual(expected);
      }
    },
  );

  test("are told when one is missing, with the command that makes a better token", async () => {
    const { secret } = await newToken({ name: "reader", scopes: ["read"] });
    const refusal = await refusalOf(
      new ApiClient(mesh.api.url, secret).call("POST", "/v1/workspaces/default/runs", { assistant: "hello" }),
    );
    expect(refusal.problem).toMatchObject({ code: "permission_denied", status: 403, details: { scope: "runs" } });
    expect(refusal.problem.detail).toContain("yao token create --scope runs");
  });

  test("cannot be widened by making another token", async () => {
    const { secret } = await newToken({ name: "maker", scopes: ["tokens"] });
    const maker = new ApiClient(mesh.api.url, secret);
    for (const body of [
      { name: "x", scopes: ["nodes"] },
      { name: "x", scopes: ["admin"] },
      { name: "x", user: "root" },
    ]) {
      const refusal = await refusalOf(maker.call("POST", "/v1/tokens", body));
      expect(refusal.status).toBe(403);
    }
  });
});

describe("a token", () => {
  test.each([
    ["absent", ""],
    ["unknown", `yao_${"A".repeat(43)}`],
    ["of another form", "Bearer me"],
  ])("that is %s opens nothing", async (_what, token) => {
    for (const operation of GUARDED) {
      expect(await httpVerdict(token, operation)).toBe("unauthenticated");
      expect(await grpcVerdict(token, operation)).toBe("unauthenticated");
    }
  });

  test("that was revoked stops working at once, and one that expired at its time", async () => {
    const revoked = await newToken({ name: "revoked" });
    const read = GUARDED[0]!;
    expect(await httpVerdict(revoked.secret, read)).toBe("allowed");
    await mesh.api.call("DELETE", `/v1/tokens/${revoked.id}`);
    expect(await httpVerdict(revoked.secret, read)).toBe("unauthenticated");
    const short = await newToken({ name: "short", ttl_seconds: 1 });
    await until(async () => (await httpVerdict(short.secret, read)) === "unauthenticated", { what: "the expiry" });
  });
});

describe("a workspace", () => {
  let ann: ApiClient;
  let foreign: RunView;

  beforeAll(async () => {
    await mesh.api.call("POST", "/v1/workspaces", { name: "blue" });
    await mesh.pushApp("demo", demoAppDirectory, "blue");
    const scopes = ["read", "runs", "apps", "connectors", "workspaces"];
    ann = new ApiClient(
      mesh.api.url,
      (await newToken({ name: "ann", user: "ann", scopes, workspace_ids: ["blue"] })).secret,
    );
    foreign = await mesh.createRun({ assistant: "hello", input: "/echo not for ann" });
    await mesh.ended(foreign.id);
  });

  test("is all that its member sees", async () => {
    const { workspaces } = await ann.call<{ workspaces: { name: string }[] }>("GET", "/v1/workspaces");
    expect(workspaces.map(({ name }) => name)).toEqual(["blue"]);
    const { run } = await ann.call<{ run: RunView }>("POST", "/v1/workspaces/blue/runs", {
      assistant: "hello",
      input: "/echo for ann",
    });
    await mesh.ended(run.id);
    const { runs } = await ann.call<{ runs: RunView[] }>("GET", "/v1/workspaces/blue/runs");
    expect(runs.map(({ id }) => id)).toEqual([run.id]);
    expect((await ann.follow(run.id)).at(-1)).toMatchObject({ data: { output: "for ann" } });
  });

  test("of others is not to be told from one that does not exist, over HTTP", async () => {
    const routes: readonly (readonly [string, string, unknown?])[] = [
      ["GET", ""],
      ["GET", "/runs"],
      ["POST", "/runs", { assistant: "hello", input: "hi" }],
      ["GET", "/apps"],
      ["GET", "/apps/demo"],
      ["POST", "/apps/demo/versions", new Uint8Array([1])],
      ["GET", "/assistants"],
      ["GET", "/assistants/hello"],
      ["GET", "/connectors"],
      ["PUT", "/connectors/mine", { type: "openai" }],
      ["GET", "/members"],
      ["PUT", "/members/ann", { role: "owner" }],
      ["DELETE", ""],
    ];
    for (const [method, path, body] of routes) {
      const texts: unknown[] = [];
      for (const name of ["default", "absent"]) {
        const refusal = await refusalOf(ann.call(method, `/v1/workspaces/${name}${path}`, body));
        expect([path, refusal.status]).toEqual([path, 404]);
        texts.push(String(refusal.problem.detail).replaceAll(name, "NAME"));
      }
      expect(texts[0]).toBe(texts[1]);
    }
  });

  test("keeps its runs to itself over HTTP, gRPC and the event socket", async () => {
    const absent = systemIds().next("run");
    const calls: readonly (readonly [string, string])[] = [
      ["GET", ""],
      ["GET", "/events"],
      ["POST", "/cancel"],
      ["POST", "/retry"],
      ["POST", "/answer"],
    ];
    for (const [method, path] of calls) {
      const body = path === "/answer" ? { call_id: "c", decision: "approve" } : undefined;
      const [theirs, none] = [
        await refusalOf(ann.call(method, `/v1/runs/${foreign.id}${path}`, body)),
        await refusalOf(ann.call(method, `/v1/runs/${absent}${path}`, body)),
      ];
      expect(theirs).toMatchObject({ status: 404, problem: { code: "not_found" } });
      expect(String(theirs.problem.detail).replace(foreign.id, "ID")).toBe(
        String(none.problem.detail).replace(absent, "ID"),
      );
    }
    const target = { address: mesh.grpcAddress, token: ann.token };
    for (const method of ["getRun", "listRunEvents", "followRun", "cancelRun", "retryRun", "answerRun"]) {
      const call = callGrpc(
        target,
        { service: RunServiceService, method },
        { run: foreign.id, after_seq: 0, limit: 0, call_id: "c", decision: "approve" },
      );
      await expect(call, method).rejects.toMatchObject({ code: GRPC.NOT_FOUND });
    }
    expect(await socketAnswer(ann, foreign.id)).toMatchObject({ type: "error", id: "1", code: "not_found" });
    const stream = ann.stream(foreign.id).next();
    expect((await refusalOf(stream)).status).toBe(404);
  });

  test("a viewer reads and writes nothing", async () => {
    const { secret } = await newToken({
      name: "vera",
      user: "vera",
      scopes: ["read", "runs", "apps"],
      workspace_ids: ["blue"],
    });
    await mesh.api.call("PUT", "/v1/workspaces/blue/members/vera", { role: "viewer" });
    const vera = new ApiClient(mesh.api.url, secret);
    await vera.call("GET", "/v1/workspaces/blue/runs");
    const refusal = await refusalOf(vera.call("POST", "/v1/workspaces/blue/runs", { assistant: "hello", input: "hi" }));
    expect(refusal).toMatchObject({ status: 403, problem: { code: "permission_denied" } });
  });

  test("a device that serves only one workspace gets no run of another", async () => {
    const { workspaces } = await mesh.api.call<{ workspaces: { id: string; name: string }[] }>("GET", "/v1/workspaces");
    const blue = workspaces.find(({ name }) => name === "blue")!.id;
    await mesh.api.call("PATCH", "/v1/nodes/other", { workspace_ids: { ids: [blue] } });
    const refusal = await refusalOf(mesh.createRun({ assistant: "hello", input: "hi", node: "other" }));
    expect(refusal.problem).toMatchObject({ code: "failed_precondition" });
    await mesh.api.call("PATCH", "/v1/nodes/other", { labels: { only: "blue" } });
    const waiting = await mesh.createRun({ assistant: "hello", input: "hi", labels: { only: "blue" } });
    expect(waiting.state).toBe("queued");
    expect((await mesh.run(waiting.id)).placement?.candidates).toContainEqual({
      node: "other",
      eligible: false,
      reason: "does not serve this workspace",
    });
    await mesh.api.call("POST", `/v1/runs/${waiting.id}/cancel`);
    const { run } = await ann.call<{ run: RunView }>("POST", "/v1/workspaces/blue/runs", {
      assistant: "hello",
      input: "hi",
      requirements: { labels: { only: "blue" } },
    });
    expect(await mesh.ended(run.id)).toMatchObject({ state: "succeeded", node: "other" });
  });
});

/** First answer to a subscription over the event socket. */
function socketAnswer(api: ApiClient, run: string): Promise<unknown> {
  const socket = new WebSocket(`${api.url.replace(/^http/, "ws")}/v1/ws`);
  return new Promise<unknown>((resolve, reject) => {
    socket.once("error", reject);
    socket.once("open", () => socket.send(JSON.stringify({ type: "auth", token: api.token })));
    socket.on("message", (data: Buffer) => {
      const frame = JSON.parse(data.toString("utf8")) as { type: string };
      if (frame.type === "ready") socket.send(JSON.stringify({ type: "subscribe", id: "1", run }));
      else resolve(frame);
    });
  }).finally(() => socket.terminate());
}
