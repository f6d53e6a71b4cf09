/**
 * A gRPC server as a Service: health, reflection, bounds, keepalive and a graceful end.
 *
 * R1  Health says SERVING only between `setServing(true)` and the start of the stop.
 * R2  Stopping: NOT_SERVING, then running calls get `graceMs`, then they are cut.
 * R3  Messages, streams per connection and the age of connections are bounded.
 */

import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { logVerbosity, Server, ServerCredentials, type ServerOptions, setLogVerbosity } from "@grpc/grpc-js";
import type { PackageDefinition } from "@grpc/proto-loader";
import { ReflectionService } from "@grpc/reflection";
import { MeshError, type Service } from "@mesh/kernel";
import { DESCRIPTOR_SET_BASE64 } from "@mesh/proto";
import { HealthImplementation } from "grpc-health-check";

import { grpcServe, type RpcService, type ServeDeps } from "./serve.ts";

/** Key and certificate chain, PEM. */
export interface ServerTls {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Where and how to listen. */
export interface RpcServerOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly tls?: ServerTls;
  readonly maxReceiveBytes?: number;
  /** How long running calls may go on after the stop; 10 s. */
  readonly graceMs?: number;
  /** Upper bound of a unary call; 30 s. */
  readonly maxUnaryMs?: number;
}

/** A listening gRPC server. */
export interface RpcServer extends Service {
  /** Binds; resolves with the port. `run` calls it when nobody has. */
  listen(): Promise<number>;
  /** What health tells from now on. */
  setServing(serving: boolean): void;
}

const MINUTE_MS = 60_000;

/** A server for these services; see the guarantees above. */
export function createRpcServer(
  services: readonly RpcService[],
  deps: Omit<ServeDeps, "maxUnaryMs">,
  options: RpcServerOptions,
): RpcServer {
  // grpc-js writes to standard error by itself; what matters arrives here as an error.
  setLogVerbosity(logVerbosity.NONE);
  const server = new Server(serverOptions(options));
  const serveDeps = { ...deps, maxUnaryMs: options.maxUnaryMs ?? 30_000 };
  for (const service of services) server.addService(service.definition, grpcServe(service, serveDeps));
  const names = ["", ...services.map((service) => serviceName(service))];
  const health = new HealthImplementation(Object.fromEntries(names.map((name) => [name, "NOT_SERVING"])));
  health.addToServer(server);
  new ReflectionService(descriptors()).addToServer(server);

  const setServing = (serving: boolean): void => {
    for (const name of names) health.setStatus(name, serving ? "SERVING" : "NOT_SERVING");
  };
  let bound: Promise<number> | undefined;
  const listen = (): Promise<number> => (bound ??= bind(server, options));
  return {
    name: "grpc-server",
    listen,
    setServing,
    async run(signal) {
      try {
        // A stop before the start binds nothing.
        await (signal.aborted ? bound : listen());
        await aborted(signal);
      } finally {
        setServing(false);
        await stop(server, deps, options.graceMs ?? 10_000);
      }
    },
  };
}

function serverOptions(options: RpcServerOptions): ServerOptions {
  return {
    "grpc.max_receive_message_length": options.maxReceiveBytes ?? 34 * 1024 * 1024,
    "grpc.max_concurrent_streams": 256,
    "grpc.keepalive_time_ms": 30_000,
    "grpc.keepalive_timeout_ms": 10_000,
    "grpc.keepalive_permit_without_calls": 1,
    // Health probes that never close their connection would pile up for ever.
    "grpc.max_connection_idle_ms": 5 * MINUTE_MS,
    "grpc.max_connection_age_ms": 30 * MINUTE_MS,
    "grpc.max_connection_age_grace_ms": 30_000,
  };
}

function bind(server: Server, { host, port, tls }: RpcServerOptions): Promise<number> {
  const credentials =
    tls === undefined
      ? ServerCredentials.createInsecure()
      : ServerCredentials.createSsl(null, [{ cert_chain: tls.cert, private_key: tls.key }]);
  const address = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, boundPort) => {
      if (error === null) resolve(boundPort);
      else {
        const advice = `cannot listen for gRPC on ${address}: is another process using it? Choose another port with YAO_GRPC_PORT`;
        reject(new MeshError("failed_precondition", advice, { cause: error }));
      }
    });
  });
}

async function stop(server: Server, { clock }: Pick<ServeDeps, "clock">, graceMs: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const cancelTimer = clock.after(graceMs, () => {
      server.forceShutdown();
      resolve();
    });
    server.tryShutdown(() => {
      cancelTimer();
      resolve();
    });
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function serviceName(service: RpcService): string {
  const [first] = Object.values(service.definition);
  return first?.path.split("/")[1] ?? "";
}

// As they are: loaded and rebuilt by proto-loader, messages with maps would be taken for map entries by strict readers.
function descriptors(): PackageDefinition {
  const { file } = fromBinary(FileDescriptorSetSchema, Buffer.from(DESCRIPTOR_SET_BASE64, "base64"));
  const fileDescriptorProtos = file.map((one) => Buffer.from(toBinary(FileDescriptorProtoSchema, one)));
  // Reflection looks at the files of a definition and at nothing else.
  return { contract: { format: "Protocol Buffer 3 EnumDescriptorProto", type: {}, fileDescriptorProtos } };
}
