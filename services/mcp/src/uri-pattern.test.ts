import { expect, test } from "vitest";

import { isUriTemplate, matchUri } from "./uri-pattern.ts";

test("a fixed URI matches itself only", () => {
  expect(matchUri("echo://info", "echo://info")).toEqual({ path: {}, query: {} });
  expect(matchUri("echo://info", "echo://infos")).toBeUndefined();
  expect(matchUri("a.b://x+y", "aXb://x+y")).toBeUndefined();
});

test("variables of the path and of the query are found under their names", () => {
  expect(matchUri("data://users/{id}/{kind}", "data://users/4%2F2/full")).toEqual({
    path: { id: "4/2", kind: "full" },
    query: {},
  });
  expect(matchUri("echo://health?check={what}", "echo://health?check=all&x=1")).toEqual({
    path: {},
    query: { check: "all", what: "all", x: "1" },
  });
});

test("a query may be missing", () => {
  expect(matchUri("echo://health?check={check}", "echo://health")).toEqual({ path: {}, query: {} });
});

test("a variable does not reach over a slash, and a broken escape is taken as it is", () => {
  expect(matchUri("data://{id}", "data://a/b")).toBeUndefined();
  expect(matchUri("data://{id}", "data://%zz")).toEqual({ path: { id: "%zz" }, query: {} });
});

test("names that objects inherit are ordinary names", () => {
  const match = matchUri("data://{id}?__proto__={x}", "data://1?__proto__=evil&constructor=2");
  expect(match?.query["constructor"]).toBe("2");
  expect(Object.getPrototypeOf(match?.query)).toBe(Object.prototype);
});

test("an endless URI is refused at once", () => {
  expect(matchUri("data://{a}{b}{c}", `data://${"x".repeat(100_000)}/`)).toBeUndefined();
});

test("templates are told from fixed URIs", () => {
  expect([isUriTemplate("a://{b}"), isUriTemplate("a://b"), isUriTemplate("a://{}")]).toEqual([true, false, false]);
});
