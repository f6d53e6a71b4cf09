/**
 * What a configuration file may hold, as data: the one table behind the checker, the editors' JSON Schemas and the documents.
 *
 * A small language of our own instead of JSON Schema as the source: its checkers generate code from strings, which is switched
 * off where user code runs, and their errors know no lines.
 */

import type { SourceNode } from "../source-node.ts";

/** The form of one value. */
export type Shape =
  | { readonly kind: "text" | "flag" | "any" }
  | NumberShape
  /** `isOpen`: other words pass, with a warning. */
  | { readonly kind: "word"; readonly words: readonly string[]; readonly isOpen?: true }
  | { readonly kind: "list"; readonly of: Shape }
  | { readonly kind: "map"; readonly of: Shape }
  | ObjectShape
  | { readonly kind: "either"; readonly of: readonly [Shape, ...Shape[]] }
  /** A shape with a name, which may hold itself. */
  | { readonly kind: "named"; readonly name: string; readonly shape: () => Shape };

/** A number, within bounds. */
export interface NumberShape {
  readonly kind: "number";
  readonly isWhole?: true;
  readonly min?: number;
  readonly max?: number;
}

/** A mapping whose keys are known. */
export interface ObjectShape {
  readonly kind: "object";
  readonly fields: Fields;
  /** Other keys pass silently: they belong to somebody else, such as a model provider. */
  readonly isOpen?: true;
  /** Among alternatives, a mapping is of this form when it has this key. */
  readonly marker?: string;
}

/** The fields of a mapping by key. */
export type Fields = Readonly<Record<string, Field>>;

/** One field of a mapping. */
export interface Field {
  readonly shape: Shape;
  /** One sentence for people, shown by editors. */
  readonly doc: string;
  readonly isRequired?: true;
  /** Set for keys that old files carry and nothing reads: any value is accepted and this is said about it. */
  readonly legacy?: string;
  /** An old form that is ignored with a note instead of refused. */
  readonly tolerated?: { readonly kind: SourceNode["kind"]; readonly message: string };
}

/** Text. */
export const text: Shape = { kind: "text" };

/** True or false. */
export const flag: Shape = { kind: "flag" };

/** Anything. */
export const any: Shape = { kind: "any" };

/** A list of texts. */
export const texts: Shape = { kind: "list", of: text };

/** A mapping with any keys. */
export const anyMap: Shape = { kind: "map", of: any };

/** A mapping of texts. */
export const textMap: Shape = { kind: "map", of: text };

/** A number of things: whole, not negative. */
export const count: Shape = { kind: "number", isWhole: true, min: 0 };

/** A share from 0 to 1. */
export const share: Shape = { kind: "number", min: 0, max: 1 };

/** An optional field. */
export function field(shape: Shape, doc: string): Field {
  return { shape, doc };
}

/** A field that must be there. */
export function required(shape: Shape, doc: string): Field {
  return { shape, doc, isRequired: true };
}

/** A key of old files that nothing reads; `message` follows its name. */
export function legacy(message: string): Field {
  return { shape: any, doc: `An old key that ${message}.`, legacy: message };
}

/** A mapping with these keys and no others. */
export function object(fields: Fields): ObjectShape {
  return { kind: "object", fields };
}

/** A mapping with these keys, among others. */
export function openObject(fields: Fields): ObjectShape {
  return { kind: "object", fields, isOpen: true };
}

/** One of these words. */
export function word(...words: readonly string[]): Shape {
  return { kind: "word", words };
}

/** Usually one of these words. */
export function openWord(...words: readonly string[]): Shape {
  return { kind: "word", words, isOpen: true };
}

/** A list of values of one form. */
export function listOf(of: Shape): Shape {
  return { kind: "list", of };
}

/** A value of one of several forms; the first that fits counts. */
export function either(...of: readonly [Shape, ...Shape[]]): Shape {
  return { kind: "either", of };
}
