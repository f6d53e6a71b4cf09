/** Begin, commit, roll back, on the one connection a transaction was given. */

import { MeshError } from "@mesh/kernel";
import type postgres from "postgres";

/** What is done within a transaction. */
export type Work = (tx: postgres.TransactionSql) => unknown;

/** Runs `work` between begin and commit; rolls back if it fails. `mode` is such as `isolation level serializable`. */
export async function inTransaction(sql: postgres.ReservedSql, mode: string, work: Work): Promise<unknown> {
  await sql.unsafe(`BEGIN ${mode.replaceAll(/[^a-z ]/gi, "")}`);
  let result: unknown;
  try {
    result = await settle(work(withSavepoints(sql)));
  } catch (error) {
    // If this fails the connection is gone, and the transaction with it.
    await sql.unsafe("ROLLBACK").catch(() => undefined);
    throw error;
  }
  const { command } = await sql.unsafe("COMMIT");
  // PostgreSQL answers the commit of a failed transaction with a rollback, not with an error.
  if (command === "COMMIT") return result;
  throw new MeshError("aborted", "a statement of the transaction failed, so none of it was kept");
}

function withSavepoints(sql: postgres.ReservedSql): postgres.TransactionSql {
  let count = 0;
  const savepoint = async (first: string | Work, second?: Work): Promise<unknown> => {
    const work = typeof first === "string" ? second : first;
    count += 1;
    const name = `s${count}`;
    await sql.unsafe(`SAVEPOINT ${name}`);
    try {
      return await settle(work?.(tx));
    } catch (error) {
      await sql.unsafe(`ROLLBACK TO ${name}`).catch(() => undefined);
      throw error;
    }
  };
  const tx = new Proxy(sql, {
    get: (target, name) => (name === "savepoint" ? savepoint : Reflect.get(target, name)),
  }) as unknown as postgres.TransactionSql;
  return tx;
}

// As the driver does: an array of statements is awaited as a whole.
async function settle(result: unknown): Promise<unknown> {
  return Array.isArray(result) ? Promise.all(result) : result;
}
