/**
 * Statements of postgres.js, and deciding what runs them.
 *
 * A statement is built when it is written and runs when it is first awaited, by calling its `handler`. The driver does
 * not document that field; the tests of `pool.ts` would fail with another version of the driver that works differently.
 */

import type postgres from "postgres";

/** Runs a statement. */
export type Run = (statement: Statement) => void;

/** What a call of postgres.js returns for SQL text. */
export interface Statement extends Promise<unknown> {
  handler: Run;
  /** Set when the rows are read with a cursor. */
  readonly cursorRows?: number;
  reject(error: unknown): void;
}

/** What stands in for members of the driver. */
export type Overrides = Readonly<Record<string, unknown>>;

/** Something used like `builder`, whose statements are run by `run`. */
export function statementsRunBy(run: Run, builder: postgres.Sql, overrides: Overrides): postgres.Sql {
  const adopt = (result: unknown): unknown => {
    if (isStatement(result)) result.handler = run;
    return result;
  };
  return new Proxy(builder, {
    apply: (target, _self, args) => adopt(Reflect.apply(target, undefined, args)),
    get(target, name) {
      if (typeof name === "string" && Object.hasOwn(overrides, name)) return overrides[name];
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? (...args: unknown[]) => adopt(Reflect.apply(member, target, args)) : member;
    },
  });
}

/** What a driver itself runs its statements with. */
export function runOf(driver: postgres.Sql): Run {
  const probe: unknown = driver.unsafe("");
  if (!isStatement(probe)) throw new Error("this version of the postgres package is not supported");
  return probe.handler;
}

function isStatement(value: unknown): value is Statement {
  return value instanceof Promise && "handler" in value && typeof value.handler === "function";
}
