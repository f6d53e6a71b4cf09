import { expect, test } from "vitest";

import { displayWidth, fields, table } from "./table.ts";

const COLUMNS = [
  { title: "name", value: (row: { name: string; note?: string }) => row.name },
  { title: "note", value: (row: { name: string; note?: string }) => row.note },
];

test("columns are as wide as their widest cell, and lines have no trailing blanks", () => {
  expect(table([{ name: "a", note: "x" }, { name: "laptop" }], COLUMNS, "none")).toBe(
    "NAME    NOTE\na       x\nlaptop  -\n",
  );
});

test("an empty table says what to do", () => {
  expect(table([], COLUMNS, "no device has joined yet")).toBe("no device has joined yet\n");
});

test("wide characters take two columns", () => {
  expect(displayWidth("日本")).toBe(4);
  expect(displayWidth("e\u0301")).toBe(1);
  expect(
    table(
      [
        { name: "日本", note: "x" },
        { name: "abcd", note: "y" },
      ],
      COLUMNS,
      "",
    ),
  ).toBe("NAME  NOTE\n日本  x\nabcd  y\n");
});

test("text from elsewhere cannot break out of its cell", () => {
  expect(table([{ name: "a\u001B[2J\nb", note: "x" }], COLUMNS, "")).toBe("NAME    NOTE\na[2J b  x\n");
});

test("fields leave out what is absent", () => {
  expect(
    fields([
      ["run", "run_1"],
      ["node", undefined],
      ["attempt", 0],
      ["note", ""],
    ]),
  ).toBe("run:     run_1\nattempt: 0\n");
});
