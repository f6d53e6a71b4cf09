/** One row of the operation table: all that a transport needs to know about an rpc. */

import type { z } from "zod";

import type { Scope } from "../auth/caller.ts";

/** HTTP methods in use. */
export type Verb = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** What every row says. */
export interface OperationRow<Request> {
  readonly verb: Verb;
  /** Path with `{field}` in the place of path parameters. */
  readonly path: string;
  /** Scope of the token; `none` needs no token. */
  readonly scope: Scope | "none";
  /** One sentence for the OpenAPI document. */
  readonly summary: string;
  /** Bounds of every field of the request message. */
  readonly input: z.ZodObject;
  /** Turns validated input into the whole message, defaults filled in. */
  readonly complete: (input: never) => Request;
  readonly successStatus: 200 | 201;
  /** The field that is the whole HTTP body, as bytes. */
  readonly rawBody?: string;
  /** The field that the `Idempotency-Key` header fills. */
  readonly idempotencyField?: string;
  /** Needs no token, and is done for the caller when there is one. */
  readonly mayHaveCaller?: true;
  /** The handler gives a stream. */
  readonly streaming: boolean;
  /** Tokens that are limited to assistants may call it: its handler holds them to that. */
  readonly knowsAssistants?: true;
  /** The object whose `locale` is what the `Accept-Language` header asks for, where it has none. */
  readonly localeField?: string;
  /** The largest JSON body over HTTP, where it may be larger than others. */
  readonly maxBodyBytes?: number;
}

/** What may differ from the usual. */
export interface RowOptions {
  readonly successStatus?: 201;
  readonly rawBody?: string;
  readonly idempotencyField?: string;
  readonly mayHaveCaller?: true;
  readonly streaming?: true;
  readonly knowsAssistants?: true;
  readonly localeField?: string;
  readonly maxBodyBytes?: number;
}

/** What a schema gives, as a generated type wants it: it never looks at a field that is undefined. */
export type Given<T> = T extends Uint8Array
  ? T
  : T extends readonly (infer Item)[]
    ? Given<Item>[]
    : T extends object
      ? { [K in keyof T]: Given<Exclude<T[K], undefined>> }
      : T;

/** A generated message type. */
export interface MessageType<Partial, Request> {
  fromPartial(partial: Partial): Request;
}

/** What a row is made of. */
export interface RowParts<Schema extends z.ZodObject, Request> {
  readonly scope: Scope | "none";
  readonly summary: string;
  readonly input: Schema;
  readonly message: MessageType<Given<z.output<Schema>>, Request>;
}

/** Makes a row; `http` is such as `GET /v1/runs/{run}`. */
export function row<Schema extends z.ZodObject, Request>(
  http: `${Verb} /${string}`,
  parts: RowParts<Schema, Request>,
  options: RowOptions = {},
): OperationRow<Request> {
  const [verb, path = ""] = http.split(" ");
  return {
    verb: verb as Verb,
    path,
    scope: parts.scope,
    summary: parts.summary,
    input: parts.input,
    complete: (input: Given<z.output<Schema>>) => parts.message.fromPartial(input),
    successStatus: options.successStatus ?? 200,
    streaming: options.streaming ?? false,
    ...(options.rawBody === undefined ? {} : { rawBody: options.rawBody }),
    ...(options.knowsAssistants === undefined ? {} : { knowsAssistants: options.knowsAssistants }),
    ...(options.idempotencyField === undefined ? {} : { idempotencyField: options.idempotencyField }),
    ...(options.mayHaveCaller === undefined ? {} : { mayHaveCaller: options.mayHaveCaller }),
    ...(options.maxBodyBytes === undefined ? {} : { maxBodyBytes: options.maxBodyBytes }),
    ...(options.localeField === undefined ? {} : { localeField: options.localeField }),
  };
}

/** Names of the path parameters of a row, in order. */
export function pathFields(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "");
}
