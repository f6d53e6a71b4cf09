/** Values of columns with `crypt`, together with all others: what a statement binds and what a row shows. */

import { type Json, MeshError } from "@mesh/kernel";

import { ColumnCipher, hashPassword } from "./column-cipher.ts";
import type { Column, ModelDefinition } from "./model.ts";
import { decoderOf, type Encoded, encodeValue } from "./value-codec.ts";

/** Gives the cipher of a column of one workspace. */
export interface CipherSource {
  of(model: ModelDefinition, column: Column): ColumnCipher;
}

/** Ciphers from the installation's secret; without one, encrypted columns cannot be used. */
export function cipherSource(secret: Uint8Array | undefined, schema: string): CipherSource {
  return {
    of(model, column) {
      if (secret !== undefined) return new ColumnCipher(secret, [schema, model.table, column.name]);
      throw new MeshError(
        "failed_precondition",
        `${model.id}: ${column.name} is encrypted, and this installation has no key for columns`,
      );
    },
  };
}

/** A value to store. */
export async function stored(
  ciphers: CipherSource,
  model: ModelDefinition,
  column: Column,
  value: Json,
): Promise<Encoded> {
  const encoded = encodeValue(column, value);
  if (typeof encoded !== "string" || column.crypt === undefined) return encoded;
  return column.crypt === "PASSWORD" ? hashPassword(encoded) : ciphers.of(model, column).seal(encoded);
}

/** A value to compare stored ones with. */
export function comparable(ciphers: CipherSource, model: ModelDefinition, column: Column, value: Json): Encoded {
  const encoded = encodeValue(column, value);
  if (column.crypt === "PASSWORD") {
    throw new MeshError("invalid_argument", `${column.name} is kept as a hash, so rows cannot be found by it`);
  }
  return column.crypt === "AES" && typeof encoded === "string" ? ciphers.of(model, column).seal(encoded) : encoded;
}

/** Makes what turns values that were read into JSON. */
export function shownBy(ciphers: CipherSource, model: ModelDefinition, column: Column): (value: unknown) => Json {
  const decode = decoderOf(column);
  if (column.crypt !== "AES") return decode;
  let cipher: ColumnCipher | undefined;
  return (value) => {
    if (typeof value !== "string") return decode(value);
    cipher ??= ciphers.of(model, column);
    return cipher.open(value);
  };
}
