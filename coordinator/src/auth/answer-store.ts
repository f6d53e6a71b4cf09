/** `AnswerStore` over a table: answers are sealed, since they may show secrets that are shown once. */

import type { Store } from "@mesh/store";

import type { AnswerStore, KeyedCall } from "../gateway/idempotency.ts";
import type { SecretBox } from "./secret-box.ts";

/** A call that has not ended by then has died: no call takes longer than half of it. */
const ABANDONED_MS = 60_000;

/** The store of one database. */
export function createAnswerStore({ sql }: Pick<Store, "sql">, box: SecretBox): AnswerStore {
  return {
    async claim({ scope, key, requestHash }) {
      const taken = await sql`
        INSERT INTO http_idempotency AS h (scope, key, request_hash) VALUES (${scope}, ${key}, ${requestHash})
        ON CONFLICT (scope, key) DO UPDATE SET started_at = now(), request_hash = excluded.request_hash
          WHERE h.sealed_answer IS NULL AND h.started_at < now() - ${ABANDONED_MS} * interval '1 ms'`;
      if (taken.count === 1) return { kind: "first" };
      const [row] = await sql<{ request_hash: string; sealed_answer: Buffer | null }[]>`
        SELECT request_hash, sealed_answer FROM http_idempotency WHERE scope = ${scope} AND key = ${key}`;
      if (row !== undefined && row.request_hash !== requestHash) return { kind: "reused" };
      // A row that went away in between is that of a call that was just refused.
      if (row?.sealed_answer === undefined || row.sealed_answer === null) return { kind: "running" };
      return { kind: "done", answer: box.open(row.sealed_answer, contextOf({ scope, key })) };
    },
    async keep({ scope, key, requestHash }, answer) {
      await sql`
        UPDATE http_idempotency SET sealed_answer = ${box.seal(answer, contextOf({ scope, key }))}
        WHERE scope = ${scope} AND key = ${key} AND request_hash = ${requestHash} AND sealed_answer IS NULL`;
    },
    async release({ scope, key, requestHash }) {
      await sql`
        DELETE FROM http_idempotency
        WHERE scope = ${scope} AND key = ${key} AND request_hash = ${requestHash} AND sealed_answer IS NULL`;
    },
  };
}

function contextOf({ scope, key }: Pick<KeyedCall, "scope" | "key">): string {
  return `answer/${scope}/${key}`;
}
