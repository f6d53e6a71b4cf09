/** `Process`, and `All`, `Any`, `Race` for several at once. */

import { outside } from "./outside.ts";
import type { Value } from "./value.ts";

/** See {@link Process}. */
export interface ProcessFunction {
  (name: string, ...args: Value[]): Value;
}

/**
 * Calls a process by name and gives what it returns: data models (`models.user.Find`), your own scripts
 * (`scripts.shop.Total`, `agents.my.helper.Total`), stores, and helpers such as `utils.str.UUID` or `crypto.Hash`.
 * What it throws is thrown here.
 *
 * @example
 * const user = Process("models.user.Find", 7, { select: ["id", "name"] });
 * const digest = Process("crypto.Hash", "SHA256", user.name);
 */
export const Process: ProcessFunction = outside("Process");

/** One of several processes. */
export interface ProcessRequest {
  process: string;
  args?: Value[];
}

/** How one of several processes went. */
export interface ProcessResult {
  data?: Value;
  error?: string;
}

/** See {@link All}, {@link Any} and {@link Race}. */
export interface ProcessesFunction {
  (requests: ProcessRequest[]): ProcessResult[];
}

/**
 * Calls several processes at the same time and waits for all; results come in the order of the requests.
 *
 * @example
 * const [users, orders] = All([
 *   { process: "models.user.Get", args: [{ limit: 5 }] },
 *   { process: "models.order.Get", args: [{ limit: 5 }] },
 * ]);
 */
export const All: ProcessesFunction = outside("All");

/**
 * Waits for the first process that succeeds.
 *
 * @example
 * const price = Any([{ process: "scripts.shop.Price" }, { process: "scripts.archive.Price" }]).find((it) => it && !it.error);
 */
export const Any: ProcessesFunction = outside("Any");

/**
 * Waits for the first process that ends, well or not.
 *
 * @example
 * const first = Race([{ process: "scripts.eu.Ping" }, { process: "scripts.us.Ping" }]).find((it) => it);
 */
export const Race: ProcessesFunction = outside("Race");
