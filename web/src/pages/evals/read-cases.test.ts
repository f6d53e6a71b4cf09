import { expect, test } from "vitest";

import { readCases } from "./read-cases.ts";

const ids = (text: string): readonly string[] => readCases(text).cases.map(({ id, line }) => `${id}@${line}`);
const problems = (text: string): readonly string[] =>
  readCases(text).problems.map((one) => `${one.line} ${one.kind}${one.kind === "twice" ? ` ${one.detail}` : ""}`);

test.each([
  ["one a line", '{"id":"a","input":"x"}\n{"id":"b","input":"y"}', ["a@1", "b@2"]],
  [
    "mark, CRLF, blanks and comments",
    '\uFEFF{"id":"a","input":"x"}\r\n\r\n// c\r\n# c\r\n{"id":"b","input":"y"}\r\n',
    ["a@1", "b@5"],
  ],
  ["over several lines", '{\n  "id": "a",\n  "input": "}{"\n}\n{"id":"b","input":"y"}', ["a@1", "b@5"]],
  ["one array around all", '[{"id":"a","input":"x"},\n{"id":"b","input":"y"}]', ["a@1", "b@1"]],
  [
    "quotes and backslashes in texts",
    '{\n"id":"a",\n"input":"say \\"{\\" and \\\\"\n}\n{"id":"b","input":"y"}',
    ["a@1", "b@5"],
  ],
  [
    "messages, and a number as id",
    '{"id":7,"input":[{"role":"user","content":"x"}]}\n{"id":"b","input":{"role":"user","content":"x"}}',
    ["7@1", "b@2"],
  ],
])("cases are read: %s", (_name, text, expected) => {
  expect(ids(text)).toEqual(expected);
  expect(problems(text)).toEqual([]);
});

test.each([
  ["no JSON", '{"id":"a","input":"x"}\n{"id":}\n{"id":"c","input":"x"}', ["2 json"]],
  ["not an object", '"text"\n5', ["1 object", "2 object"]],
  ["no id", '{"input":"x"}\n{"id":" ","input":"x"}\n{"id":true,"input":"x"}', ["1 id", "2 id", "3 id"]],
  ["an id that is too long", `{"id":"${"a".repeat(501)}","input":"x"}`, ["1 longId"]],
  ["no input", '{"id":"a"}\n{"id":"b","input":""}\n{"id":"c","input":5}', ["1 input", "2 input", "3 input"]],
  ["the same id twice", '{"id":"a","input":"x"}\n\n{"id":"a","input":"y"}', ["3 twice 1"]],
  ["too large", `{"id":"a","input":"${"x".repeat(1_000_000)}"}`, ["1 large"]],
])("what is wrong is told with its line: %s", (_name, text, expected) => {
  expect(problems(text)).toEqual(expected);
});

test("an object that does not end does not take the next ones with it", () => {
  const text = '{"id":"a",\n"input":"x"\n{"id":"b","input":"y"}\n{"id":"c","input":"z"}';
  expect(problems(text)).toEqual(["1 json"]);
  expect(ids(text)).toEqual(["b@3", "c@4"]);
});

test("a text of nothing but problems is given up after a hundred", () => {
  expect(problems("x\n".repeat(5_000))).toHaveLength(100);
});

test("cases that name files are noticed", () => {
  expect(
    readCases('{"id":"a","input":{"role":"user","content":[{"type":"image","source":"file://a.jpg"}]}}').hasFiles,
  ).toBe(true);
  expect(readCases('{"id":"a","input":"what is a file:// address"}').hasFiles).toBe(false);
});
