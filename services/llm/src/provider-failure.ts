/**
 * How a provider's own words become an {@link ErrorClass}.
 *
 * C1  A rate limit is looked for before an overflow: "too many tokens per minute" is no long prompt.
 * C2  What the server says about repeating (`x-should-retry`, `retry-after`) wins over the class.
 */

import { type Clock, errorText, isObject } from "@mesh/kernel";

import type { StreamConfig } from "./provider.ts";
import { type ErrorClass, ProviderError } from "./provider-error.ts";

const MAX_TEXT = 500;

/** Parts of sentences with which servers say that the prompt does not fit. */
export const OVERFLOW_PHRASES: readonly string[] = [
  "prompt is too long",
  "input is too long",
  "exceeds the context window",
  "exceeds the maximum",
  "maximum prompt length",
  "reduce the length of the messages",
  "maximum context length",
  "exceeds the limit of",
  "exceeds the available context size",
  "greater than the context length",
  "context window exceeds limit",
  "exceeded model token limit",
  "context length exceeded",
  "context_length_exceeded",
  "model_context_window_exceeded",
  "too many tokens",
  "token limit exceeded",
];

// Structured marks (`code`, `type`, `status`) of an error object, in order of precedence.
const MARKS: readonly (readonly [RegExp, ErrorClass])[] = [
  [/insufficient_quota|billing|insufficient_balance|payment_required|(^| )402( |$)/, "quota"],
  [
    /rate_?limit|too_?many_?requests|no_capacity|overloaded|throttl|(^| )(429|503|529|unavailable|resource_exhausted)( |$)/,
    "rateLimit",
  ],
  [/context_length_exceeded|model_context_window_exceeded|request_too_large/, "overflow"],
  [/auth|invalid_api_key|api_key|permission|forbidden|access_?denied|unrecognizedclient|(^| )40[13]( |$)/, "auth"],
  [/not_?found|(^| )404( |$)/, "notFound"],
  [/content_filter|content_policy|safety/, "refusal"],
  [/invalid|bad_?request|unsupported|validation|(^| )4\d\d( |$)/, "invalidRequest"],
  [/server_?error|internal|api_error|unavailable|timeout|(^| )5\d\d( |$)/, "server"],
];

const RATE_LIMIT_TEXT =
  /rate.?limit|too many requests|per (minute|day|hour)|requests? per|throttl|overloaded|at capacity/i;
const QUOTA_TEXT =
  /insufficient (quota|balance|credit)|exceeded your current quota|billing|credit balance|payment required/i;
const KEY_TEXT = /incorrect api key|invalid api key|api key not valid|invalid x-api-key|authentication/i;

/** What an error object says. */
export interface ProviderFault {
  readonly errorClass: ErrorClass;
  readonly text: string;
}

/** Reads an `error` value out of a body or an event; undefined when it is none. */
export function faultOf(error: unknown): ProviderFault | undefined {
  if (typeof error === "string" && error !== "") return { errorClass: classOf([], error), text: error };
  if (!isObject(error)) return undefined;
  const inner = isObject(error["error"]) ? error["error"] : error;
  const text = [inner["message"], inner["Message"], inner["detail"], inner["error"]].find(
    (value) => typeof value === "string" && value !== "",
  ) as string | undefined;
  const marks = [inner["code"], inner["type"], inner["status"], inner["__type"]]
    .filter((value) => typeof value === "string" || typeof value === "number")
    .map((value) => String(value).toLowerCase());
  if (text === undefined && marks.length === 0) return undefined;
  return { errorClass: classOf(marks, text ?? ""), text: text ?? marks.join(" ") };
}

/** The class of an error that came without an HTTP status of its own. */
export function classOf(marks: readonly string[], text: string): ErrorClass {
  const joined = marks.join(" ");
  const marked = MARKS.find(([pattern]) => pattern.test(joined))?.[1];
  if (marked === "quota" || marked === "rateLimit") return QUOTA_TEXT.test(text) ? "quota" : marked;
  if (QUOTA_TEXT.test(text)) return "quota";
  if (RATE_LIMIT_TEXT.test(text)) return "rateLimit";
  if (isOverflowText(text)) return "overflow";
  if (marked !== undefined) return KEY_TEXT.test(text) ? "auth" : marked;
  return KEY_TEXT.test(text) ? "auth" : "server";
}

/** Whether a text says that the prompt does not fit. */
export function isOverflowText(text: string): boolean {
  const lower = text.toLowerCase();
  return OVERFLOW_PHRASES.some((phrase) => lower.includes(phrase));
}

/** A failure that an event inside the stream reported. */
export function streamedError(fault: ProviderFault, config: StreamConfig): ProviderError {
  return new ProviderError({ errorClass: fault.errorClass, message: say(config, hint(config, fault)) });
}

/** The failure behind an HTTP status that is not success. */
export function statusError(
  answer: Response,
  body: string,
  context: { config: StreamConfig; clock: Clock },
): ProviderError {
  const { config, clock } = context;
  const { status } = answer;
  const said = faultOf(parsed(body));
  const text = said?.text ?? plainText(body);
  const errorClass = classOfStatus(status, said, { text, isEmpty: body.trim() === "" });
  const told = answer.headers.get("x-should-retry");
  const wait = retryAfterMs(answer.headers, clock);
  // The body of a redirect only repeats the address.
  const quotes = text === "" || status < 400 ? "" : `; the server said: ${text}`;
  return new ProviderError({
    errorClass,
    status,
    message: say(config, `${sentence(config, errorClass, status)}${quotes}`),
    ...(told === "true" || told === "false" ? { retryable: told === "true" } : {}),
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  });
}

/** Anything thrown while connecting, sending or reading. */
export function transportError(thrown: unknown, config: StreamConfig): ProviderError {
  if (thrown instanceof ProviderError) return thrown;
  // fetch hides the errno in the cause: "fetch failed" alone helps nobody.
  const cause = thrown instanceof Error && thrown.cause !== undefined ? thrown.cause : thrown;
  const why = isObject(cause) && typeof cause["code"] === "string" ? cause["code"] : errorText(cause);
  return new ProviderError({
    errorClass: "network",
    message: say(config, `no connection to ${originOf(config)} (${why}); check its host and your network`),
    cause: thrown,
  });
}

/** How long the server asks to wait. */
export function retryAfterMs(headers: Headers, clock: Clock): number | undefined {
  const ms = headers.get("retry-after-ms");
  if (ms !== null && /^\d+(\.\d+)?$/.test(ms.trim())) return Math.round(Number(ms));
  const text = headers.get("retry-after")?.trim();
  if (text === undefined || text === "") return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000);
  const date = /^[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - clock.now());
}

/** One line of at most 500 characters, with the provider's name and without secrets. */
export function say(config: StreamConfig, text: string): string {
  const line = `${speaker(config)}: ${withoutSecrets(config, text).replaceAll(/\s+/g, " ").trim()}`;
  return line.length <= MAX_TEXT ? line : `${line.slice(0, MAX_TEXT - 1)}…`;
}

/** A text that may quote what we sent, without the secrets of it. */
export function withoutSecrets(config: StreamConfig, text: string): string {
  let shown = text;
  for (const secret of secretsOf(config)) shown = shown.replaceAll(secret, "***");
  // `fetch` quotes an address it refuses, password included.
  return shown.replaceAll(/\/\/[^\s/@]+@/g, "//***@");
}

/** Who a message is about. */
export function speaker(config: StreamConfig): string {
  const { connector, provider } = config.model;
  return connector === undefined ? provider : `connector ${connector}`;
}

function originOf(config: StreamConfig): string {
  const { baseUrl, api } = config.model;
  return baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).origin : `the public address of ${api}`;
}

function secretsOf(config: StreamConfig): readonly string[] {
  const headers = Object.values(config.model.headers ?? {}).map((value) => value.trim().replace(/^[a-z]+\s+/i, ""));
  const key = config.apiKey?.trim() ?? "";
  return [key, ...key.split(":"), ...headers].filter((secret) => secret.length >= 8);
}

const STATUS_CLASSES: Readonly<Record<number, ErrorClass | undefined>> = {
  401: "auth",
  402: "quota",
  403: "auth",
  408: "network",
  409: "server",
  429: "rateLimit",
  503: "rateLimit",
  529: "rateLimit",
};

// What a 400 may say in its body only: a wrong key, an unknown model, a filter.
const BODY_CLASSES: ReadonlySet<ErrorClass> = new Set(["auth", "notFound", "refusal", "rateLimit", "overflow"]);

function classOfStatus(
  status: number,
  said: ProviderFault | undefined,
  body: { readonly text: string; readonly isEmpty: boolean },
): ErrorClass {
  const byStatus = STATUS_CLASSES[status];
  if (said?.errorClass === "quota" || (byStatus === "rateLimit" && QUOTA_TEXT.test(body.text))) return "quota";
  if (byStatus !== undefined) return byStatus;
  if (status >= 500) return "server";
  // Cerebras and Mistral say nothing at all about a prompt that is too long.
  if (status === 413 || (status === 400 && body.isEmpty) || isOverflowText(body.text)) return "overflow";
  if (status === 404 || status < 400) return "notFound";
  return said !== undefined && BODY_CLASSES.has(said.errorClass) ? said.errorClass : "invalidRequest";
}

function sentence(config: StreamConfig, errorClass: ErrorClass, status: number): string {
  switch (errorClass) {
    case "auth":
      return keyHint(config, status);
    case "quota":
      return `no credit left (HTTP ${status}); add credit or use another key`;
    case "rateLimit":
      return `too many requests or no capacity (HTTP ${status}); try again later`;
    case "overflow":
      return `the prompt is too long for ${config.model.id} (HTTP ${status}); shorten it or use a model with a larger context`;
    case "notFound":
      return status === 404
        ? `the model "${config.model.id}" or the address ${originOf(config)} was not found (HTTP 404); check its model and host`
        : `${originOf(config)} redirects elsewhere (HTTP ${status}); set its host to the final address`;
    case "network":
    case "server":
      return `the server failed (HTTP ${status}); try again later`;
    default:
      return `the request was refused (HTTP ${status})`;
  }
}

function keyHint(config: StreamConfig, status?: number): string {
  const what = (config.apiKey ?? "").trim() === "" ? "a key is needed" : "the key was refused";
  const { connector } = config.model;
  const how =
    connector === undefined ? "set a valid key" : `set it with \`yao connector add ${connector} --key-env NAME\``;
  return `${what}; ${how}${status === undefined ? "" : ` (HTTP ${status})`}`;
}

function hint(config: StreamConfig, fault: ProviderFault): string {
  return fault.errorClass === "auth" ? `${keyHint(config)}; the server said: ${fault.text}` : fault.text;
}

function parsed(body: string): unknown {
  try {
    const value: unknown = JSON.parse(body);
    const first = Array.isArray(value) ? (value as readonly unknown[])[0] : value;
    return isObject(first) && first["error"] !== undefined && first["error"] !== null ? first["error"] : first;
  } catch {
    return undefined;
  }
}

// An HTML error page says nothing in its first characters; its title does.
function plainText(body: string): string {
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(body)?.[1];
  if (title !== undefined) return title.trim();
  return /^\s*</.test(body) ? "" : body.trim();
}
