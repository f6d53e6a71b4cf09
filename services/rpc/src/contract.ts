/** The wire contract as data, read from the embedded descriptor set: what documents and parity tests are made from. */

import { createFileRegistry, type DescField, type DescMessage, fromBinary, ScalarType } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { MeshError } from "@mesh/kernel";
import { DESCRIPTOR_SET_BASE64 } from "@mesh/proto";

/** The type of one value. */
export type ValueType =
  | { readonly kind: "string" | "bytes" | "boolean" | "integer" | "unsigned" | "double" | "struct" }
  /** `message` is the short name of another message of the contract. */
  | { readonly kind: "message"; readonly message: string };

/** One field of a message. */
export interface ContractField {
  readonly name: string;
  readonly type: ValueType;
  readonly shape: "one" | "list" | "map";
  /** Left out of JSON when it has no value. */
  readonly optional: boolean;
}

/** One rpc of a service. */
export interface ContractMethod {
  /** Such as `RunService`. */
  readonly service: string;
  /** Such as `createRun`. */
  readonly name: string;
  readonly request: string;
  readonly response: string;
  readonly streaming: boolean;
}

/** Messages by short name and all methods. */
export interface Contract {
  readonly messages: ReadonlyMap<string, readonly ContractField[]>;
  readonly methods: readonly ContractMethod[];
}

const PACKAGE = "yao.mesh.v1";

/** Reads the contract of package `yao.mesh.v1`. */
export function readContract(): Contract {
  const set = fromBinary(FileDescriptorSetSchema, Buffer.from(DESCRIPTOR_SET_BASE64, "base64"));
  const messages = new Map<string, readonly ContractField[]>();
  const methods: ContractMethod[] = [];
  for (const file of createFileRegistry(set).files) {
    if (file.proto.package !== PACKAGE) continue;
    for (const message of file.messages) messages.set(message.name, message.fields.map(readField));
    for (const service of file.services) {
      for (const method of service.methods) {
        methods.push({
          service: service.name,
          name: method.localName,
          request: method.input.name,
          response: method.output.name,
          streaming: method.methodKind === "server_streaming",
        });
      }
    }
  }
  return { messages, methods };
}

function readField(field: DescField): ContractField {
  return {
    name: field.name,
    type: valueType(field),
    shape: field.fieldKind === "list" || field.fieldKind === "map" ? field.fieldKind : "one",
    optional:
      field.fieldKind === "message" ||
      (field.fieldKind === "scalar" && field.presence === FeatureSet_FieldPresence.EXPLICIT),
  };
}

function valueType(field: DescField): ValueType {
  if (field.message !== undefined) return messageType(field.message);
  return field.scalar === undefined ? { kind: "string" } : scalarType(field.scalar);
}

function messageType(message: DescMessage): ValueType {
  return message.typeName === "google.protobuf.Struct"
    ? { kind: "struct" }
    : { kind: "message", message: message.name };
}

const SCALARS: Readonly<Partial<Record<ScalarType, ValueType>>> = {
  [ScalarType.STRING]: { kind: "string" },
  [ScalarType.BYTES]: { kind: "bytes" },
  [ScalarType.BOOL]: { kind: "boolean" },
  [ScalarType.DOUBLE]: { kind: "double" },
  [ScalarType.UINT32]: { kind: "unsigned" },
  [ScalarType.UINT64]: { kind: "unsigned" },
  [ScalarType.INT32]: { kind: "integer" },
  [ScalarType.INT64]: { kind: "integer" },
};

function scalarType(scalar: ScalarType): ValueType {
  const type = SCALARS[scalar];
  if (type === undefined)
    throw new MeshError("internal", `the contract uses scalar ${scalar}, which has no JSON form yet`);
  return type;
}
