/**
 * Creating calls that may be repeated with the header `Idempotency-Key`.
 *
 * J1  Of calls under one key of one token, one is carried out; while it runs the others are refused with 409, afterwards they get
 *     its answer and the header `Idempotency-Replayed`. A day later the key is forgotten.
 * J2  The same key with another request is refused with 422.
 * J3  A call that was refused leaves its key free. One whose process died holds it for a minute; then the next call is carried
 *     out, which may do a second time what the dead one had done just before.
 *
 * Runs have a stricter rule of their own: a run and its key are one transaction.
 */

import { createHash } from "node:crypto";

import { canonicalJson, MeshError } from "@mesh/kernel";

import type { Operation } from "./operations.ts";

/** One call under a key. */
export interface KeyedCall {
  /** Whose key it is; keys of different scopes never meet. */
  readonly scope: string;
  readonly key: string;
  readonly requestHash: string;
}

/** What is known about a key. */
export type KeyState =
  | { readonly kind: "first" }
  | { readonly kind: "running" }
  | { readonly kind: "reused" }
  | { readonly kind: "done"; readonly answer: string };

/** Where keys and answers are kept. */
export interface AnswerStore {
  /** Takes the key for this call, or tells who has it. */
  claim(call: KeyedCall): Promise<KeyState>;
  /** Keeps the answer: JSON text. */
  keep(call: KeyedCall, answer: string): Promise<void>;
  /** Leaves the key free. */
  release(call: KeyedCall): Promise<void>;
}

/** An answer, and whether it was given before. */
export interface Answer {
  readonly text: string;
  readonly isReplayed: boolean;
}

const MAX_KEY_CHARS = 255;

/** Whether the header means something to an operation. */
export function takesKey({ verb, scope, successStatus, rawBody }: Operation): boolean {
  // Callers without a token cannot be told apart, so their keys would meet.
  return verb === "POST" && successStatus === 201 && rawBody === undefined && scope !== "none";
}

/** The call as it is known by its key; throws for a key that cannot be one. */
export function keyedCall(operation: Operation, tokenId: string, key: string, input: unknown): KeyedCall {
  if (!/^[\x21-\x7e]+$/.test(key) || key.length > MAX_KEY_CHARS) {
    throw new MeshError("invalid_argument", `Idempotency-Key must be 1 to ${MAX_KEY_CHARS} visible characters`);
  }
  const requestHash = createHash("sha256").update(canonicalJson(input)).digest("hex");
  return { scope: `${tokenId}:${operation.method}`, key, requestHash };
}

/** Carries a call out once; `work` gives the answer as JSON text. */
export async function answerUnderKey(
  store: AnswerStore,
  call: KeyedCall,
  work: () => Promise<string>,
): Promise<Answer> {
  const state = await store.claim(call);
  if (state.kind === "done") return { text: state.answer, isReplayed: true };
  if (state.kind === "reused") {
    throw new MeshError(
      "already_exists",
      "this idempotency key was used for a different request; use a new key for a new request",
      { details: { reason: "idempotency_key_reused" } },
    );
  }
  if (state.kind === "running") {
    throw new MeshError("aborted", "the first call under this idempotency key has not ended; try again in a second", {
      details: { reason: "idempotency_key_in_use", retry_after_seconds: 1 },
    });
  }
  let text: string;
  try {
    text = await work();
  } catch (thrown) {
    await store.release(call);
    throw thrown;
  }
  await store.keep(call, text);
  return { text, isReplayed: false };
}
