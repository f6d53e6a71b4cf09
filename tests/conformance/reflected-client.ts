/**
 * A gRPC client that knows nothing but an address: services and messages come from the server's reflection, as with
 * grpcurl, and are judged by a strict reader of descriptors.
 */

import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import {
  createFileRegistry,
  type DescMethod,
  type FileRegistry,
  fromBinary,
  fromJson,
  type JsonValue,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { create } from "@bufbuild/protobuf";
import { Client, credentials, type GrpcObject, loadPackageDefinition, Metadata } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const PROTO = join(
  dirname(createRequire(import.meta.url).resolve("@grpc/reflection/package.json")),
  "build/proto/grpc/reflection",
);

/** Versions of the reflection protocol that clients in use speak. */
export type ReflectionVersion = "v1" | "v1alpha";

interface ReflectionAnswer {
  readonly list_services_response?: { readonly service: readonly { readonly name: string }[] };
  readonly file_descriptor_response?: { readonly file_descriptor_proto: readonly Buffer[] };
  readonly error_response?: { readonly error_message: string };
}

type ReflectionStream = NodeJS.ReadWriteStream & { write(request: object): boolean };

/** Asks the reflection service one thing. */
async function reflect(address: string, version: ReflectionVersion, request: object): Promise<ReflectionAnswer> {
  const loaded = loadPackageDefinition(loadSync(join(PROTO, version, "reflection.proto"), { keepCase: true }));
  const path = ["grpc", "reflection", version, "ServerReflection"];
  const Reflection = path.reduce<unknown>((found, name) => (found as GrpcObject)[name], loaded) as typeof Client;
  const client = new Reflection(address, credentials.createInsecure());
  try {
    const stream = (client as unknown as { ServerReflectionInfo(): ReflectionStream }).ServerReflectionInfo();
    stream.write(request);
    stream.end();
    for await (const answer of stream) return answer as unknown as ReflectionAnswer;
    throw new Error("reflection gave no answer");
  } finally {
    client.close();
  }
}

/** Names of all services the server tells of. */
export async function reflectedServices(address: string, version: ReflectionVersion): Promise<readonly string[]> {
  const answer = await reflect(address, version, { list_services: "" });
  return (answer.list_services_response?.service ?? []).map(({ name }) => name);
}

/** The files that declare a symbol, with all they need. */
export async function reflectedFiles(
  address: string,
  version: ReflectionVersion,
  symbol: string,
): Promise<FileRegistry> {
  const answer = await reflect(address, version, { file_containing_symbol: symbol });
  const encoded = answer.file_descriptor_response?.file_descriptor_proto;
  if (encoded === undefined) throw new Error(`no ${symbol}: ${answer.error_response?.error_message ?? "no answer"}`);
  const files = encoded.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
  return createFileRegistry(create(FileDescriptorSetSchema, { file: inOrder(files) }));
}

/** Each file behind those it imports. */
function inOrder(files: readonly FileDescriptorProto[]): FileDescriptorProto[] {
  const byName = new Map(files.map((file) => [file.name, file]));
  const ordered = new Set<FileDescriptorProto>();
  const visit = (file: FileDescriptorProto): void => {
    for (const name of file.dependency) {
      const needed = byName.get(name);
      if (needed === undefined) throw new Error(`reflection left out ${name}, which ${file.name} imports`);
      visit(needed);
    }
    ordered.add(file);
  };
  for (const file of files) visit(file);
  return [...ordered];
}

/** A client of one service; requests and answers are the JSON form of the messages. */
export class ReflectedClient implements Disposable {
  readonly #client: Client;
  readonly #registry: FileRegistry;
  readonly #service: string;
  readonly #metadata = new Metadata();

  private constructor(address: string, service: string, registry: FileRegistry, token: string) {
    this.#client = new Client(address, credentials.createInsecure());
    this.#registry = registry;
    this.#service = service;
    this.#metadata.set("authorization", `Bearer ${token}`);
  }

  /** Learns the service from the server. */
  static async connect(address: string, service: string, token: string): Promise<ReflectedClient> {
    return new ReflectedClient(address, service, await reflectedFiles(address, "v1", service), token);
  }

  /** Calls a unary method. */
  async call<T = Record<string, unknown>>(name: string, request: JsonValue): Promise<T> {
    const wire = this.#wire(name);
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(wire.path, wire.write, wire.read, request, this.#metadata, (error, answer) =>
        error === null ? resolve(answer as T) : reject(error),
      );
    });
  }

  /** Calls a method that answers with a stream. */
  async *stream<T = Record<string, unknown>>(name: string, request: JsonValue): AsyncGenerator<T> {
    const { path, write, read } = this.#wire(name);
    const answers = this.#client.makeServerStreamRequest(path, write, read, request, this.#metadata);
    for await (const answer of answers) yield answer as T;
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }

  #wire(name: string): {
    readonly path: string;
    readonly write: (request: JsonValue) => Buffer;
    readonly read: (bytes: Buffer) => JsonValue;
  } {
    const { input, output } = this.#method(name);
    const registry = this.#registry;
    return {
      path: `/${this.#service}/${name}`,
      write: (request) => Buffer.from(toBinary(input, fromJson(input, request, { registry }))),
      read: (bytes) =>
        toJson(output, fromBinary(output, bytes), { registry, useProtoFieldName: true, alwaysEmitImplicit: true }),
    };
  }

  #method(name: string): DescMethod {
    const method = this.#registry.getService(this.#service)?.methods.find((one) => one.name === name);
    if (method === undefined) throw new Error(`${this.#service} has no method ${name}`);
    return method;
  }
}
