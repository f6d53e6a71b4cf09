/** `utils.str.*` and `utils.url.*`. Pure; randomness is handed in. */

import { posix } from "node:path";

import type { Json } from "@mesh/kernel";

import type { ProcessArgs } from "./process-args.ts";
import type { ProcessFunction } from "./process-group.ts";

/** Bytes nobody can guess. */
export type RandomBytes = (size: number) => Uint8Array;

/** Functions of `utils.str`. */
export function strFunctions(randomBytes: RandomBytes): Readonly<Record<string, ProcessFunction>> {
  return {
    "str.Concat": (args) => args.values.map((_, index) => args.text(index, "part", "")).join(""),
    "str.Join": (args) => {
      const parts = args.list(0, "list").map((part) => (typeof part === "string" ? part : JSON.stringify(part)));
      return parts.join(args.text(1, "separator", ""));
    },
    "str.JoinPath": (args) => posix.join(...args.values.map((_, index) => args.text(index, "part", ""))),
    "str.Hex": (args) => Buffer.from(args.text(0, "text")).toString("hex"),
    "str.UUID": () => uuid(randomBytes(16)),
  };
}

/** A version 4 UUID of 16 random bytes. */
function uuid(random: Uint8Array): string {
  const bytes = Buffer.from(random);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Functions of `utils.url`. */
export const urlFunctions: Readonly<Record<string, ProcessFunction>> = {
  "url.ParseQuery": (args) => queryOf(new URLSearchParams(args.text(0, "query"))),
  "url.ParseURL": (args) => {
    const url = parseUrl(args);
    return {
      url: url.href,
      scheme: url.protocol.slice(0, -1),
      host: url.host,
      domain: url.hostname,
      port: url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port,
      path: url.pathname,
      query: queryOf(url.searchParams),
      fragment: url.hash.slice(1),
    };
  },
};

function parseUrl(args: ProcessArgs): URL {
  const text = args.text(0, "url");
  return URL.canParse(text)
    ? new URL(text)
    : args.refuse("argument 1 (url) must be a whole URL such as https://example.com/a?b=1");
}

/** Every key with the list of its values. */
function queryOf(params: URLSearchParams): Json {
  return Object.fromEntries([...new Set(params.keys())].map((key) => [key, params.getAll(key)]));
}
