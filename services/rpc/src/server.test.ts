import { connect } from "node:http2";

import { Client, credentials, loadPackageDefinition, Metadata, type ServiceError } from "@grpc/grpc-js";
import { fromJSON } from "@grpc/proto-loader";
import { type MeshError, systemClock, until } from "@mesh/kernel";
import { FakeClock, startStopStress } from "@mesh/kernel/testing";
import { GetRunResponse, RunServiceService } from "@mesh/proto";
import { describe, expect, test } from "vitest";

import { callUnary } from "./client.ts";
import { readContract } from "./contract.ts";
import type { RpcService, RpcStreaming, RpcUnary } from "./serve.ts";
import { createRpcServer, type RpcServer } from "./server.ts";

const idle: RpcUnary = () => Promise.resolve({});

function runService(
  unary: Record<string, RpcUnary> = {},
  follow: RpcStreaming = async function* none() {},
): RpcService {
  const names = Object.keys(RunServiceService).filter((name) => name !== "followRun");
  return {
    definition: RunServiceService,
    unary: { ...Object.fromEntries(names.map((name) => [name, idle])), ...unary },
    streaming: { followRun: follow },
  };
}

interface Running extends AsyncDisposable {
  readonly address: string;
  readonly server: RpcServer;
  readonly errors: MeshError[];
  stop(): Promise<void>;
}

async function start(service: RpcService, options: { graceMs?: number; clock?: FakeClock } = {}): Promise<Running> {
  const errors: MeshError[] = [];
  let calls = 0;
  const server = createRpcServer(
    [service],
    {
      clock: options.clock ?? systemClock,
      requestId: () => `req_${(calls += 1)}`,
      onError: (error) => errors.push(error),
    },
    { host: "127.0.0.1", port: 0, graceMs: options.graceMs ?? 200 },
  );
  const port = await server.listen();
  server.setServing(true);
  const controller = new AbortController();
  const running = server.run(controller.signal);
  const stop = async (): Promise<void> => {
    controller.abort();
    await running;
  };
  return { address: `127.0.0.1:${port}`, server, errors, stop, [Symbol.asyncDispose]: stop };
}

function getRun(client: Client, deadline?: Date): Promise<GetRunResponse> {
  const { path, requestSerialize, responseDeserialize } = RunServiceService.getRun;
  return callUnary<{ run: string }, GetRunResponse>(
    (request, metadata, options, callback) =>
      client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        metadata,
        options,
        (error: ServiceError | null, response) => callback(error, response as GetRunResponse),
      ),
    { run: "x" },
    deadline === undefined ? {} : { deadline },
  );
}

/** The wire types of reflection and health, as any foreign client has them. */
const FOREIGN = fromJSON({
  nested: {
    grpc: {
      nested: {
        reflection: { nested: { v1: reflection(), v1alpha: reflection() } },
        health: {
          nested: {
            v1: {
              nested: {
                Health: { methods: { Check: { requestType: "Request", responseType: "Response", comment: "" } } },
                Request: { fields: { service: { type: "string", id: 1 } } },
                Response: { fields: { status: { type: "int32", id: 1 } } },
              },
            },
          },
        },
      },
    },
  },
});

function reflection(): object {
  return {
    nested: {
      ServerReflection: {
        methods: {
          ServerReflectionInfo: {
            requestType: "Request",
            requestStream: true,
            responseType: "Response",
            responseStream: true,
          },
        },
      },
      Request: {
        oneofs: { message_request: { oneof: ["file_containing_symbol", "list_services"] } },
        fields: { file_containing_symbol: { type: "string", id: 4 }, list_services: { type: "string", id: 7 } },
      },
      Response: {
        oneofs: { message_response: { oneof: ["file_descriptor_response", "list_services_response"] } },
        fields: {
          file_descriptor_response: { type: "Files", id: 4 },
          list_services_response: { type: "Services", id: 6 },
        },
      },
      Files: { fields: { file_descriptor_proto: { rule: "repeated", type: "bytes", id: 1 } } },
      Services: { fields: { service: { rule: "repeated", type: "Service", id: 1 } } },
      Service: { fields: { name: { type: "string", id: 1 } } },
    },
  };
}

type Foreign = new (address: string, creds: unknown) => Client & Record<string, (...args: unknown[]) => unknown>;

function foreignClient(path: string, address: string): InstanceType<Foreign> {
  let found: unknown = loadPackageDefinition(FOREIGN);
  for (const part of path.split(".")) found = (found as Record<string, unknown>)[part];
  return new (found as Foreign)(address, credentials.createInsecure());
}

interface Reflected {
  readonly list_services_response?: { readonly service: readonly { readonly name: string }[] };
  readonly file_descriptor_response?: { readonly file_descriptor_proto: readonly Buffer[] };
}

async function reflect(address: string, version: string, request: object): Promise<Reflected> {
  const client = foreignClient(`grpc.reflection.${version}.ServerReflection`, address);
  const stream = client["ServerReflectionInfo"]?.() as NodeJS.ReadWriteStream & { write(message: object): void };
  stream.write(request);
  try {
    return (await new Promise((resolve, reject) => {
      stream.once("data", resolve);
      stream.once("error", reject);
    })) as Reflected;
  } finally {
    stream.end();
    client.close();
  }
}

async function healthOf(address: string): Promise<number> {
  const client = foreignClient("grpc.health.v1.Health", address);
  try {
    return await new Promise((resolve, reject) => {
      client["Check"]?.(
        { service: "yao.mesh.v1.RunService" },
        new Metadata(),
        (error: Error | null, response: { status: number }) =>
          error === null ? resolve(response.status) : reject(error),
      );
    });
  } finally {
    client.close();
  }
}

describe("what foreign clients rely on", () => {
  test.each(["v1", "v1alpha"])("reflection %s lists the services and gives their files", async (version) => {
    await using running = await start(runService());
    const listed = await reflect(running.address, version, { list_services: "*" });
    const names = (listed.list_services_response?.service ?? []).map(({ name }) => name);
    expect(names).toContain("yao.mesh.v1.RunService");
    const file = await reflect(running.address, version, { file_containing_symbol: "yao.mesh.v1.RunService" });
    const bytes = Buffer.concat(file.file_descriptor_response?.file_descriptor_proto ?? []).toString("latin1");
    for (const { service, name } of readContract().methods) {
      if (service === "RunService") expect(bytes.toLowerCase()).toContain(name.toLowerCase());
    }
  });

  test("health says SERVING only while it is set so", async () => {
    await using running = await start(runService());
    expect(await healthOf(running.address)).toBe(1);
    running.server.setServing(false);
    expect(await healthOf(running.address)).toBe(2);
  });
});

describe("calls", () => {
  test("a unary call is answered for after 30 s when its handler is not", async () => {
    const clock = new FakeClock(Date.now());
    let signal: AbortSignal | undefined;
    const service = runService({ getRun: (_request, call) => ((signal = call.signal), new Promise(() => undefined)) });
    const running = await start(service, { clock });
    const client = new Client(running.address, credentials.createInsecure());
    const pending = getRun(client).catch((error: unknown) => error);
    await until(() => signal !== undefined);
    await clock.advance(30_000);
    expect(await pending).toMatchObject({ code: "deadline_exceeded" });
    expect(signal?.aborted).toBe(true);
    client.close();
    const stopped = running.stop();
    await clock.advance(1_000);
    await stopped;
  });

  test("each failure is reported once, with the id the client got", async () => {
    const service = runService({ getRun: () => Promise.reject(new Error("inside")) });
    await using running = await start(service);
    const client = new Client(running.address, credentials.createInsecure());
    await expect(getRun(client)).rejects.toThrow(/req_1/);
    expect(running.errors.map(({ message }) => message)).toEqual(["inside"]);
    client.close();
  });

  test("a method without a handler is found out at the start", () => {
    const service = { ...runService(), streaming: {} };
    const deps = { clock: systemClock, requestId: () => "", onError: () => undefined };
    expect(() => createRpcServer([service], deps, { host: "127.0.0.1", port: 0 })).toThrow(/FollowRun has no handler/);
  });
});

describe("streams", () => {
  test("a client that does not read holds the handler back", async () => {
    let made = 0;
    const text = "x".repeat(64 * 1024);
    const service = runService({}, async function* follow() {
      for (; made < 300; made += 1) {
        yield { event: { run_id: "r", seq: made, epoch: 1, at: "", kind: "message", data: { text } } };
      }
    });
    await using running = await start(service);
    // Plain HTTP/2: the client of grpc-js reads ahead into its own memory.
    const session = connect(`http://${running.address}`);
    const { path, requestSerialize } = RunServiceService.followRun;
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    stream.on("error", () => undefined);
    stream.pause();
    stream.end(framed(requestSerialize({ run: "r", after_seq: 0 })));
    let seen = -1;
    await until(() => made > 0 && (seen === made || ((seen = made), false)), { everyMs: 200 });
    expect(made).toBeLessThan(100);
    let bytes = 0;
    stream.on("data", (data: Buffer) => (bytes += data.length));
    stream.resume();
    await until(() => bytes > 300 * text.length);
    expect(made).toBe(300);
    session.destroy();
  });
});

/** A message as it stands on the wire: not compressed, with its length. */
function framed(message: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

describe("the life of a server", () => {
  test("starts and stops cleanly at any moment", async () => {
    await startStopStress(() =>
      createRpcServer(
        [runService()],
        { clock: systemClock, requestId: () => "", onError: () => undefined },
        { host: "127.0.0.1", port: 0, graceMs: 100 },
      ),
    );
  });

  test("a call that runs at the stop gets its grace, then is cut", async () => {
    let finish: (response: unknown) => void = () => undefined;
    let started = 0;
    const service = runService({ getRun: () => ((started += 1), new Promise((resolve) => (finish = resolve))) });
    const running = await start(service, { graceMs: 5_000 });
    const client = new Client(running.address, credentials.createInsecure());
    const pending = getRun(client);
    await until(() => started === 1);
    const stopped = running.stop();
    finish(GetRunResponse.fromPartial({}));
    expect(await pending).toEqual({ run: undefined });
    client.close();
    await stopped;
  });

  test("a taken port is an error that names it and the option", async () => {
    await using running = await start(runService());
    const deps = { clock: systemClock, requestId: () => "", onError: () => undefined };
    const port = Number(running.address.split(":")[1]);
    const second = createRpcServer([runService()], deps, { host: "127.0.0.1", port });
    await expect(second.listen()).rejects.toThrow(`cannot listen for gRPC on 127.0.0.1:${port}`);
  });
});
