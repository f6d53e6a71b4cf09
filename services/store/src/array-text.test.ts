import { array as arrays, assert, constant, oneof, property, string } from "fast-check";
import { expect, test } from "vitest";

import { formatArray, parseArray } from "./array-text.ts";

const same = (text: string): string => text;

test("what is written is read back, whatever the texts", () => {
  assert(
    property(
      arrays(oneof(string({ unit: "binary", maxLength: 20 }), constant("NULL"), constant('"\\'), constant(null))),
      (values) => {
        expect(parseArray(formatArray(values, String), same)).toEqual(values);
      },
    ),
  );
});

test.each([
  ["{}", []],
  ["{a,b}", ["a", "b"]],
  ['{"a,b","c\\"d","e\\\\f",""}', ["a,b", 'c"d', "e\\f", ""]],
  ['{NULL,"NULL"}', [null, "NULL"]],
  [
    "{{a,b},{c,d}}",
    [
      ["a", "b"],
      ["c", "d"],
    ],
  ],
  ["[0:1]={a,b}", ["a", "b"]],
])("%s is read", (text, values) => {
  expect(parseArray(text, same)).toEqual(values);
});

test.each(["", "a", "{", "{a", '{"a', "{a}b"])("%j is refused", (text) => {
  expect(() => parseArray(text, same)).toThrow(Error);
});

test("elements are converted", () => {
  expect(parseArray("{1,NULL,3}", Number)).toEqual([1, null, 3]);
  expect(formatArray([1, null, [2]], String)).toBe('{"1",NULL,{"2"}}');
});
