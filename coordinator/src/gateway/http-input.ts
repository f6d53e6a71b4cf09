/** An HTTP request as the input of an operation: path, query, body and two headers, each in its place. */

import { isObject } from "@mesh/kernel";
import { z } from "zod";

import { preferredLanguage } from "./accept-language.ts";
import { type FieldError, invalidFields, type Operation } from "./operations.ts";
import { pathFields } from "./operation-row.ts";

/** The parts of a request that carry input. */
export interface HttpInput {
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  /** Parsed JSON, bytes for operations with a raw body, undefined when there was none. */
  readonly body: unknown;
  readonly idempotencyKey: string | undefined;
  readonly acceptLanguage: string | undefined;
}

/** The input object for `validate`; throws `invalid_argument` for parts in the wrong place. */
export function readInput(operation: Operation, request: HttpInput): Record<string, unknown> {
  const inUrl = operation.verb === "GET" || operation.verb === "DELETE";
  const errors: FieldError[] = [];
  const input: Record<string, unknown> = inUrl
    ? queryInput(operation, request.query)
    : bodyInput(operation, request, errors);
  for (const field of pathFields(operation.path)) {
    const inPath = request.params[field];
    if (Object.hasOwn(input, field) && input[field] !== inPath) {
      errors.push({ field, message: "stands in the path already, with another value" });
    }
    input[field] = inPath;
  }
  const { idempotencyField } = operation;
  if (idempotencyField !== undefined && request.idempotencyKey !== undefined) {
    input[idempotencyField] = request.idempotencyKey;
  }
  addLocale(input, operation, request.acceptLanguage ?? "");
  if (errors.length > 0) throw invalidFields(errors);
  return input;
}

// What the caller says itself goes before what its browser says, also where it is no object and will be refused.
function addLocale(input: Record<string, unknown>, { localeField }: Operation, acceptLanguage: string): void {
  const locale = localeField === undefined ? undefined : preferredLanguage(acceptLanguage);
  if (localeField === undefined || locale === undefined) return;
  const { [localeField]: given = {} } = input;
  if (isObject(given) && !Object.hasOwn(given, "locale")) input[localeField] = { ...given, locale };
}

function bodyInput(operation: Operation, request: HttpInput, errors: FieldError[]): Record<string, unknown> {
  // The body is the content itself: what is said about it stands in the query.
  if (operation.rawBody !== undefined) {
    return { ...queryInput(operation, request.query), [operation.rawBody]: request.body ?? Buffer.alloc(0) };
  }
  for (const key of Object.keys(request.query)) {
    errors.push({ field: key, message: "does not belong in the query; send it in the body" });
  }
  if (request.body === undefined || request.body === null) return {};
  if (isObject(request.body)) return { ...request.body };
  errors.push({ field: "", message: "the body must be a JSON object" });
  return {};
}

function queryInput(operation: Operation, query: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).map(([key, value]) => [key, fromText(operation.input.shape[key], value)]),
  );
}

/** Query values are text; numbers and booleans are read here, anything unreadable is left for the schema to refuse. */
function fromText(schema: unknown, value: unknown): unknown {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  if (typeof value !== "string") return value;
  if (inner instanceof z.ZodNumber && /^-?\d{1,15}$/.test(value)) return Number(value);
  if (inner instanceof z.ZodBoolean && (value === "true" || value === "false")) return value === "true";
  return value;
}
