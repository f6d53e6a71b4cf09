/**
 * What went wrong with a model call, in words that say what to do.
 *
 * F1  Provider text is cut to 500 characters and never holds the key.
 * F2  Every error names its connector and carries `details.retry`: whether the same call may succeed soon.
 */

import { type Clock, type ErrorCode, errorText, isObject, MeshError } from "@mesh/kernel";

import type { Connector } from "./chat.ts";

const MAX_TEXT = 500;

/** A failure before a connector is known: what the stream parser can tell by itself. */
export interface ProviderFault {
  readonly code: ErrorCode;
  readonly text: string;
  readonly retry: boolean;
}

/** Thrown by the stream parser; the transport turns it into a MeshError that names the connector. */
export class ProviderFaultError extends MeshError {
  override readonly name = "ProviderFaultError";
  readonly fault: ProviderFault;

  constructor(fault: ProviderFault) {
    super(fault.code, fault.text, { details: { retry: fault.retry } });
    this.fault = fault;
  }
}

/** The error of an answer with a failing HTTP status. */
export function statusError(connector: Connector, answer: Response, body: string, clock: Clock): MeshError {
  const { status } = answer;
  const said = faultOf(bodyError(body));
  const details = {
    connector: connector.id,
    status,
    retry: retriesStatus(answer, said),
    ...withRetryAfter(answer.headers, clock),
  };
  const text = said?.text ?? plainText(body);
  return new MeshError(codeOfStatus(status, said), clean(connector, messageOfStatus(connector, status, text)), {
    details,
  });
}

/** The error of an `error` object in a body, or undefined when it is none. */
export function faultOf(error: unknown): ProviderFault | undefined {
  if (typeof error === "string" && error !== "") return { code: "unavailable", text: error, retry: false };
  if (!isObject(error)) return undefined;
  const inner = isObject(error["error"]) ? error["error"] : error;
  const text = [inner["message"], inner["detail"], inner["error"]].find((value) => typeof value === "string");
  const marks = [inner["code"], inner["type"], inner["status"]]
    .filter((value) => typeof value === "string" || typeof value === "number")
    .map((value) => String(value).toLowerCase());
  if (text === undefined && marks.length === 0) return undefined;
  const [code, retry] = classify(marks, text ?? "");
  return { code, text: text ?? marks.join(" "), retry };
}

/** Anything thrown by `fetch`, a body or the parser, as a MeshError that names the connector. */
export function callError(connector: Connector, thrown: unknown): MeshError {
  const details = { connector: connector.id };
  if (thrown instanceof ProviderFaultError) {
    const { code, text, retry } = thrown.fault;
    return new MeshError(code, clean(connector, `connector ${connector.id}: ${hint(connector, code, text)}`), {
      details: { ...details, retry },
      cause: thrown,
    });
  }
  if (thrown instanceof MeshError) return thrown;
  // undici hides the errno in the cause: "fetch failed" alone helps nobody.
  const cause = thrown instanceof Error && thrown.cause !== undefined ? thrown.cause : thrown;
  const why = isObject(cause) && typeof cause["code"] === "string" ? cause["code"] : errorText(cause);
  return new MeshError(
    "unavailable",
    clean(
      connector,
      `connector ${connector.id}: no connection to ${originOf(connector)} (${why}); check its host and your network`,
    ),
    { details: { ...details, retry: true }, cause: thrown },
  );
}

/** How long the server asks to wait, in milliseconds. */
export function retryAfterMs(headers: Headers, clock: Clock): number | undefined {
  const ms = headers.get("retry-after-ms");
  if (ms !== null && /^\d+(\.\d+)?$/.test(ms)) return Math.round(Number(ms));
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000);
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - clock.now());
}

function withRetryAfter(headers: Headers, clock: Clock): { readonly retry_after_ms?: number } {
  const ms = retryAfterMs(headers, clock);
  return ms === undefined ? {} : { retry_after_ms: ms };
}

function retriesStatus(answer: Response, said: ProviderFault | undefined): boolean {
  const told = answer.headers.get("x-should-retry");
  if (told === "true" || told === "false") return told === "true";
  if (answer.status === 429) return said === undefined || !/quota|billing|balance/i.test(said.text);
  return answer.status === 408 || answer.status === 409 || answer.status >= 500;
}

function codeOfStatus(status: number, said: ProviderFault | undefined): ErrorCode {
  switch (status) {
    case 401:
      return "unauthenticated";
    case 402:
    case 429:
      return "resource_exhausted";
    case 403:
      return "permission_denied";
    case 404:
      return "not_found";
    case 408:
      return "unavailable";
    case 409:
      return "aborted";
    default:
      break;
  }
  if (status >= 500) return "unavailable";
  if (status >= 300 && status < 400) return "failed_precondition";
  // Some vendors answer 400 to a wrong key or an unknown model and say so only in the body.
  return said !== undefined && PERSON_ACTS.has(said.code) ? said.code : "invalid_argument";
}

const PERSON_ACTS: ReadonlySet<ErrorCode> = new Set(["unauthenticated", "not_found", "resource_exhausted"]);

function messageOfStatus(connector: Connector, status: number, text: string): string {
  const head = `connector ${connector.id}:`;
  const said = text === "" ? "" : `; the server said: ${text}`;
  if (status === 401 || status === 403) return `${head} ${keyHint(connector)}${said}`;
  if (status === 404) {
    return `${head} model "${connector.model}" or the address ${originOf(connector)} was not found (HTTP 404); check its model and host${said}`;
  }
  if (status === 402 || status === 429)
    return `${head} too many requests or no credit left (HTTP ${status}); try again later${said}`;
  if (status >= 500) return `${head} the server failed (HTTP ${status}); try again later${said}`;
  if (status >= 300 && status < 400)
    return `${head} ${originOf(connector)} redirects elsewhere (HTTP ${status}); set its host to the final address`;
  return `${head} the request was refused (HTTP ${status})${said}`;
}

function hint(connector: Connector, code: ErrorCode, text: string): string {
  if (code === "unauthenticated" || code === "permission_denied")
    return `${keyHint(connector)}; the server said: ${text}`;
  return text;
}

function keyHint(connector: Connector): string {
  const what = connector.key === undefined || connector.key.trim() === "" ? "a key is needed" : "the key was refused";
  return `${what}; set it with \`yao connector add ${connector.id} --key-env NAME\``;
}

const CLASSES: readonly (readonly [RegExp, ErrorCode, boolean])[] = [
  [/insufficient_quota|billing|balance/, "resource_exhausted", false],
  [
    /rate_?limit|too_many_requests|no_capacity|overloaded|(^| )(429|503|529)( |$)|resource_exhausted/,
    "resource_exhausted",
    true,
  ],
  [/auth|invalid_api_key|api_key|(^| )401( |$)/, "unauthenticated", false],
  [/permission|forbidden|(^| )403( |$)/, "permission_denied", false],
  [/not_found|(^| )404( |$)/, "not_found", false],
  [/context_length|invalid|bad_?request|unsupported|(^| )4\d\d( |$)/, "invalid_argument", false],
];

function classify(marks: readonly string[], text: string): readonly [ErrorCode, boolean] {
  const joined = marks.join(" ");
  for (const [pattern, code, retry] of CLASSES) {
    if (pattern.test(joined)) return [code, retry];
  }
  return /incorrect api key/i.test(text) ? ["unauthenticated", false] : ["unavailable", true];
}

function bodyError(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

// An HTML error page says nothing in its first 500 characters; its title does.
function plainText(body: string): string {
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(body)?.[1];
  if (title !== undefined) return title.trim();
  return /^\s*</.test(body) ? "" : body.trim();
}

function clean(connector: Connector, text: string): string {
  const key = connector.key?.trim() ?? "";
  const shown = key.length < 4 ? text : text.replaceAll(key, "***");
  const line = shown.replaceAll(/\s+/g, " ").trim();
  return line.length <= MAX_TEXT ? line : `${line.slice(0, MAX_TEXT - 1)}…`;
}

function originOf(connector: Connector): string {
  return connector.host !== undefined && URL.canParse(connector.host)
    ? new URL(connector.host).origin
    : "https://api.openai.com";
}
