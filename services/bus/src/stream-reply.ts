/** What JetStream answers, as JSON, and what its errors mean to us. */

import { isObject, MeshError } from "@mesh/kernel";

/** Error codes of the JetStream API that a caller branches on. */
export const STREAM_ERROR = { consumerNotFound: 10014, streamNotFound: 10059 } as const;

/** Throws unless `data` is the server's word that it stored the message. */
export function checkStored(data: Uint8Array, subject: string): void {
  const reply = parseReply(data, subject);
  if (typeof reply["stream"] !== "string" || typeof reply["seq"] !== "number") {
    throw new MeshError("unavailable", `no stream stores ${subject}; something else answered`);
  }
}

/** The JSON of a JetStream answer; throws the error it carries, with its number in `details.streamError`. */
export function parseReply(data: Uint8Array, subject: string): Record<string, unknown> {
  let reply: unknown;
  try {
    reply = JSON.parse(Buffer.from(data).toString("utf8"));
  } catch (cause) {
    throw new MeshError("unavailable", `the answer on ${subject} is not from JetStream`, { cause });
  }
  if (!isObject(reply)) throw new MeshError("unavailable", `the answer on ${subject} is not from JetStream`);
  if (isObject(reply["error"])) throw streamError(reply["error"], subject);
  return reply;
}

/** The number of the JetStream error inside `error`, if it is one. */
export function streamErrorOf(error: unknown): number | undefined {
  const number = error instanceof MeshError ? error.details?.["streamError"] : undefined;
  return typeof number === "number" ? number : undefined;
}

function streamError(error: Record<string, unknown>, subject: string): MeshError {
  const text = typeof error["description"] === "string" ? error["description"] : "unknown error";
  const init = { details: { streamError: Number(error["err_code"] ?? 0) } };
  const say = `NATS: ${text} (${subject})`;
  if (error["code"] === 404) return new MeshError("not_found", say, init);
  if (/maximum|insufficient|limit/i.test(text)) return new MeshError("resource_exhausted", say, init);
  if (Number(error["code"]) >= 500) return new MeshError("unavailable", say, init);
  return new MeshError("failed_precondition", say, init);
}
