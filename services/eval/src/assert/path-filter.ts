/** Filters of paths: `?@.price < 10 && match(@.name, 'a.*')`, as RFC 9535 has them. */

import { isObject, type Json } from "@mesh/kernel";

import { jsonEqual } from "./json-equal.ts";
import type { PathCursor } from "./path-cursor.ts";
import { compilePattern } from "./pattern.ts";

/** What a filter looks at. */
export interface FilterScope {
  readonly node: Json;
  readonly root: Json;
}

/** Whether a node stays. */
export type Filter = (scope: FilterScope) => boolean;

/** All that a query finds. */
export type Query = (scope: FilterScope) => readonly Json[];

/** Reads the segments of a query after `@` or `$`. */
export type ReadQuery = (cursor: PathCursor) => {
  readonly find: (node: Json, root: Json) => readonly Json[];
  readonly isSingular: boolean;
};

/** A value, or undefined where there is none. */
type Value = (scope: FilterScope) => Json | undefined;

type Operand =
  | { readonly kind: "value"; readonly value: Value }
  | { readonly kind: "query"; readonly query: Query; readonly isSingular: boolean }
  | { readonly kind: "test"; readonly test: Filter };

/** Reads a filter; `readQuery` reads the paths in it. */
export function readFilter(cursor: PathCursor, readQuery: ReadQuery): Filter {
  return new FilterParser(cursor, readQuery).or();
}

class FilterParser {
  readonly #cursor: PathCursor;
  readonly #readQuery: ReadQuery;
  #depth = 0;

  constructor(cursor: PathCursor, readQuery: ReadQuery) {
    this.#cursor = cursor;
    this.#readQuery = readQuery;
  }

  or(): Filter {
    const parts = this.#chain("||", () => this.#and());
    return (scope) => parts.some((part) => part(scope));
  }

  #and(): Filter {
    const parts = this.#chain("&&", () => this.#basic());
    return (scope) => parts.every((part) => part(scope));
  }

  #chain(operator: string, read: () => Filter): readonly Filter[] {
    const parts = [read()];
    for (;;) {
      this.#cursor.skipSpace();
      if (!this.#cursor.take(operator)) return parts;
      parts.push(read());
    }
  }

  #basic(): Filter {
    const cursor = this.#cursor;
    cursor.skipSpace();
    if (cursor.peek() === "!" && cursor.peek(2) !== "!=") {
      cursor.take("!");
      const inner = this.#basic();
      return (scope) => !inner(scope);
    }
    if (cursor.take("(")) {
      this.#depth += 1;
      if (this.#depth > 50) throw cursor.refused("parentheses are nested too deeply");
      const inner = this.or();
      this.#depth -= 1;
      cursor.skipSpace();
      cursor.expect(")");
      return inner;
    }
    return this.#comparison();
  }

  #comparison(): Filter {
    const cursor = this.#cursor;
    const left = this.#operand();
    cursor.skipSpace();
    const operator = cursor.match(/==|!=|<=|>=|<|>/y);
    if (operator === undefined) {
      if (left.kind === "test") return left.test;
      if (left.kind === "query") return (scope) => left.query(scope).length > 0;
      throw cursor.refused("a value alone is no condition; compare it with ==, !=, <, <=, > or >=");
    }
    cursor.skipSpace();
    const [a, b] = [this.#valueOf(left), this.#valueOf(this.#operand())];
    return (scope) => compare(a(scope), operator, b(scope));
  }

  #valueOf(operand: Operand): Value {
    if (operand.kind === "value") return operand.value;
    if (operand.kind === "query" && operand.isSingular) return (scope) => operand.query(scope)[0];
    throw this.#cursor.refused("only single values can be compared");
  }

  #operand(): Operand {
    const cursor = this.#cursor;
    cursor.skipSpace();
    const next = cursor.peek();
    if (next === "@" || next === "$") return this.#query();
    if (next === "'" || next === '"') return constant(cursor.quoted());
    const number = cursor.match(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
    if (number !== undefined) return constant(Number(number));
    const word = cursor.match(/[a-z][a-z0-9_]*/y);
    if (word === "true" || word === "false") return constant(word === "true");
    if (word === "null") return constant(null);
    if (word !== undefined && cursor.take("(")) return this.#call(word);
    throw cursor.refused("expected a path (@.name), a text, a number, true, false, null or a function");
  }

  #query(): Operand & { readonly kind: "query" } {
    const isRoot = this.#cursor.take("$");
    if (!isRoot) this.#cursor.expect("@");
    const { find, isSingular } = this.#readQuery(this.#cursor);
    return { kind: "query", isSingular, query: ({ node, root }) => find(isRoot ? root : node, root) };
  }

  #call(name: string): Operand {
    const args = this.#args();
    const [first, second] = args;
    const cursor = this.#cursor;
    if (first === undefined) throw cursor.refused(`${name}() needs an argument`);
    switch (name) {
      case "length": {
        const value = this.#valueOf(first);
        return { kind: "value", value: (scope) => lengthOf(value(scope)) };
      }
      case "count":
        if (first.kind !== "query") throw cursor.refused("count() needs a path");
        return { kind: "value", value: (scope) => first.query(scope).length };
      case "value":
        if (first.kind !== "query") throw cursor.refused("value() needs a path");
        return {
          kind: "value",
          value: (scope) => {
            const found = first.query(scope);
            return found.length === 1 ? found[0] : undefined;
          },
        };
      case "match":
      case "search": {
        if (second === undefined) throw cursor.refused(`${name}() needs a text and a pattern`);
        const [text, pattern] = [this.#valueOf(first), this.#valueOf(second)];
        return { kind: "test", test: (scope) => matches(text(scope), pattern(scope), name === "match") };
      }
      default:
        throw cursor.refused(`there is no function ${name}(); there are length, count, value, match, search`);
    }
  }

  #args(): readonly Operand[] {
    const args: Operand[] = [];
    for (;;) {
      args.push(this.#operand());
      this.#cursor.skipSpace();
      if (this.#cursor.take(")")) return args;
      this.#cursor.expect(",");
    }
  }
}

function constant(value: Json): Operand {
  return { kind: "value", value: () => value };
}

function compare(a: Json | undefined, operator: string, b: Json | undefined): boolean {
  const isEqual = a === undefined || b === undefined ? a === b : jsonEqual(a, b);
  switch (operator) {
    case "==":
      return isEqual;
    case "!=":
      return !isEqual;
    case "<":
      return isLess(a, b);
    case "<=":
      return isLess(a, b) || isEqual;
    case ">":
      return isLess(b, a);
    default:
      return isLess(b, a) || isEqual;
  }
}

function isLess(a: Json | undefined, b: Json | undefined): boolean {
  if (typeof a === "number" && typeof b === "number") return a < b;
  return typeof a === "string" && typeof b === "string" && a < b;
}

function lengthOf(value: Json | undefined): Json | undefined {
  if (typeof value === "string") return Array.from(value).length;
  if (Array.isArray(value)) return value.length;
  return isObject(value) ? Object.keys(value).length : undefined;
}

function matches(text: Json | undefined, pattern: Json | undefined, isWhole: boolean): boolean {
  if (typeof text !== "string" || typeof pattern !== "string") return false;
  try {
    return compilePattern(isWhole ? `^(?:${pattern})$` : pattern).test(text);
  } catch {
    return false;
  }
}
