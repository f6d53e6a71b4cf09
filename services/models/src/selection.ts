/**
 * The list of columns of a SELECT, kept as compiled text: making it anew costs more than all the rest of a statement.
 *
 * Long values may be cut in the database, so that a result stays within bounds whatever the rows hold; a value that was
 * cut is recognized by its length.
 */

import { type Expression, type RawBuilder, sql } from "kysely";

import type { Column, ModelDefinition } from "./model.ts";
import type { ModelDb } from "./model-db.ts";
import { maxBytes, readable } from "./value-codec.ts";

const MAX_KEPT = 200;
const BYTES_PER_CHARACTER = 4;
const MIN_CUT = 64;
// What is not longer than this is not worth cutting.
const SHORT_BYTES = 40;

/** Columns to read, of the table named `r`. */
export interface Selection {
  readonly columns: readonly Column[];
  readonly list: RawBuilder<unknown>;
  /** The characters after which long values are cut; undefined when none is. */
  readonly cut: number | undefined;
}

/** Whether a column can be so long that it counts. */
export function isLong(column: Column): boolean {
  return maxBytes(column) > SHORT_BYTES;
}

/** Whether the database cut a value of these rows. */
export function wasCut({ columns, cut }: Selection, rows: readonly Readonly<Record<string, unknown>>[]): boolean {
  if (cut === undefined) return false;
  const long = columns.filter((column) => isCut(column, cut));
  return rows.some((row) =>
    long.some((column) => {
      const value = row[column.name];
      return (typeof value === "string" || Buffer.isBuffer(value)) && value.length >= cut;
    }),
  );
}

/** Selections by model, columns and cut. */
export class SelectionCache {
  readonly #db: ModelDb;
  readonly #kept = new WeakMap<ModelDefinition, Map<string, Selection>>();

  constructor(db: ModelDb) {
    this.#db = db;
  }

  /** A selection whose `rowCount` rows have at most about `maxResultBytes` bytes, by cutting values if need be. */
  bounded(
    model: ModelDefinition,
    columns: readonly Column[],
    { rowCount, maxResultBytes }: { readonly rowCount: number; readonly maxResultBytes: number },
  ): Selection {
    const most = columns.reduce((sum, column) => sum + maxBytes(column), 0);
    if (most * rowCount <= maxResultBytes) return this.whole(model, columns);
    const longCount = columns.filter(isLong).length;
    const share = maxResultBytes / (Math.max(1, rowCount) * Math.max(1, longCount) * BYTES_PER_CHARACTER);
    // A power of two, so that few different lists are kept.
    return this.#get(model, columns, Math.max(MIN_CUT, 2 ** Math.floor(Math.log2(share))));
  }

  /** A selection of whole values. */
  whole(model: ModelDefinition, columns: readonly Column[]): Selection {
    return this.#get(model, columns, undefined);
  }

  #get(model: ModelDefinition, columns: readonly Column[], cut: number | undefined): Selection {
    let kept = this.#kept.get(model);
    if (kept === undefined) this.#kept.set(model, (kept = new Map()));
    const key = `${cut ?? ""} ${columns.map((column) => column.name).join(" ")}`;
    const found = kept.get(key);
    if (found !== undefined) return found;
    const items = columns.map((column) => sql`${readCut(column, cut)} AS ${sql.id(column.name)}`);
    const { sql: text } = sql`${sql.join(items)}`.compile(this.#db);
    const selection: Selection = { columns, list: sql.raw(text), cut };
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(key, selection);
    return selection;
  }
}

function isCut(column: Column, cut: number): boolean {
  return maxBytes(column) > cut * BYTES_PER_CHARACTER;
}

function readCut(column: Column, cut: number | undefined): Expression<unknown> {
  const whole = readable(column, `r.${column.name}`);
  if (cut === undefined || !isCut(column, cut)) return whole;
  return column.kind === "binary"
    ? sql`substring(${whole} FROM 1 FOR ${sql.lit(cut)})`
    : sql`left(${whole}, ${sql.lit(cut)})`;
}
