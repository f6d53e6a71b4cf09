import type { Json } from "@mesh/kernel";
import { expect, test } from "vitest";

import { parseJsonPath } from "./json-path.ts";

const STORE: Json = {
  store: {
    book: [
      { category: "reference", author: "Rees", title: "Sayings", price: 8.95 },
      { category: "fiction", author: "Waugh", title: "Sword", price: 12.99 },
      { category: "fiction", author: "Melville", title: "Moby", isbn: "0-553", price: 8.99 },
      { category: "fiction", author: "Tolkien", title: "Rings", isbn: "0-395", price: 22.99 },
    ],
    bicycle: { color: "red", price: 399 },
  },
};

test.each<[string, Json, readonly Json[]]>([
  ["need_search", { need_search: true }, [true]],
  ["$.field", { field: 1 }, [1]],
  ["wheres[0].like", { wheres: [{ like: "x" }] }, ["x"]],
  ["a-b.c", { "a-b": { c: 2 } }, [2]],
  ["[0]", [7], [7]],
  ["$", 5, [5]],
  ["$['a b']", { "a b": 1 }, [1]],
  ['$["it\'s"]', { "it's": 1 }, [1]],
  ["$['it\\'s']", { "it's": 1 }, [1]],
  ["$.a[-1]", { a: [1, 2, 3] }, [3]],
  ["$.a[1:3]", { a: [0, 1, 2, 3] }, [1, 2]],
  ["$.a[::-1]", { a: [0, 1, 2] }, [2, 1, 0]],
  ["$.a[5:1:-2]", { a: [0, 1, 2, 3, 4, 5, 6] }, [5, 3]],
  ["$.a[:2]", { a: [0, 1, 2] }, [0, 1]],
  ["$.a[-2:]", { a: [0, 1, 2] }, [1, 2]],
  ["$.a[0,2]", { a: [0, 1, 2] }, [0, 2]],
  ["$.a.*", { a: { x: 1, y: 2 } }, [1, 2]],
  ["$.*", [1, 2], [1, 2]],
  ["$..price", STORE, [8.95, 12.99, 8.99, 22.99, 399]],
  ["$.store.book[*].author", STORE, ["Rees", "Waugh", "Melville", "Tolkien"]],
  ["$..book[2].title", STORE, ["Moby"]],
  ["$..book[?@.isbn].title", STORE, ["Moby", "Rings"]],
  ["$..book[?@.price < 10].title", STORE, ["Sayings", "Moby"]],
  ["$..book[?@.price<10 && @.category=='fiction'].title", STORE, ["Moby"]],
  ["$..book[?!@.isbn].title", STORE, ["Sayings", "Sword"]],
  ["$..book[?@.price > $.store.bicycle.price]", STORE, []],
  ["$..book[?match(@.title, 'S.*')].title", STORE, ["Sayings", "Sword"]],
  ["$..book[?search(@.author, 'el')].title", STORE, ["Moby"]],
  ["$..book[?length(@.title) == 5].title", STORE, ["Sword", "Rings"]],
  ["$[?count(@.*) > 1].k", [{ k: 1, l: 2 }, { k: 3 }], [1]],
  ["$[?value(@..x) == 1].k", [{ k: 1, a: { x: 1 } }], [1]],
  ["$[?(@.a == 1 || @.b == 2)].k", [{ a: 1, k: "a" }, { b: 2, k: "b" }, { k: "c" }], ["a", "b"]],
  ["$[?@.a == null].k", [{ a: null, k: 1 }, { k: 2 }], [1]],
  ["$[?@ != 1]", [1, 2], [2]],
  ["missing.path", {}, []],
  ["length", [1, 2], []],
  ["__proto__", {}, []],
  ["a[0]", { a: "text" }, []],
])("%s finds in %j: %j", (path, value, found) => {
  expect(parseJsonPath(path).find(value)).toEqual(found);
});

test.each([
  "",
  "$.",
  "$..",
  "$[",
  "$[a]",
  "$['a",
  "a..",
  "$[?]",
  "$[?@.a =]",
  "$[?1]",
  "$[?foo(@)]",
  "$[?count(1) > 1]",
  "$ x",
  "$[1.5]",
  "$[01]",
  "a b",
  "$[-0]",
])("the path %j is refused with the place", (path) => {
  expect(() => parseJsonPath(path)).toThrow(/path/);
});

test("a path that can find one value at most is known as such", () => {
  expect(parseJsonPath("a.b[0]['c']").isSingular).toBe(true);
  expect(parseJsonPath("a[*]").isSingular).toBe(false);
  expect(parseJsonPath("a..b").isSingular).toBe(false);
  expect(parseJsonPath("a[0,1]").isSingular).toBe(false);
});
