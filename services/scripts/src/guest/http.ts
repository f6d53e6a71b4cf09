/** `http`: requests, with the arguments in the order scripts write them. */

import type { Json, JsonObject } from "@mesh/kernel";

import { api, functionOf, jsonOf, textOf } from "./api.ts";
import { invoke, withCallback } from "./bridge.ts";

type Methods = Record<string, unknown>;

interface Parts {
  readonly payload?: unknown;
  readonly query?: unknown;
  readonly headers?: unknown;
  readonly files?: unknown;
}

/** `http`. */
export function http(): Methods {
  const request = (method: unknown, url: unknown, parts: Parts): JsonObject => {
    const given = Object.entries(parts).filter(([, value]) => value !== undefined && value !== null);
    return {
      method: textOf(method, "http: the method"),
      url: textOf(url, "http: the URL"),
      ...Object.fromEntries<Json>(given.map(([name, value]) => [name, jsonOf(value)])),
    };
  };
  const send = (method: unknown, url: unknown, parts: Parts): unknown =>
    invoke("http.Send", request(method, url, parts));
  const withPayload = (method: string) => (url: unknown, payload?: unknown, query?: unknown, headers?: unknown) =>
    send(method, url, { payload, query, headers });
  return api("http", {
    __proto__: null,
    Get: (url: unknown, query?: unknown, headers?: unknown) => send("GET", url, { query, headers }),
    Head: withPayload("HEAD"),
    Post: (url: unknown, ...[payload, files, query, headers]: readonly unknown[]) =>
      send("POST", url, { payload, files, query, headers }),
    Put: withPayload("PUT"),
    Patch: withPayload("PATCH"),
    Delete: withPayload("DELETE"),
    Send: (method: unknown, url: unknown, ...[payload, query, headers, files]: readonly unknown[]) =>
      send(method, url, { payload, query, headers, files }),
    Stream: (method: unknown, url: unknown, onLine: unknown, ...[payload, query, headers]: readonly unknown[]) =>
      withCallback(functionOf(onLine, "http.Stream: the callback"), (id) =>
        invoke("http.Stream", request(method, url, { payload, query, headers }), id ?? 0),
      ),
  });
}
