import { expect, test } from "vitest";

import { labelChange, readLabels, writeLabels } from "./label-list.ts";

test("labels are read from lines and commas, values may hold an equals sign", () => {
  expect(readLabels(" gpu=yes, room = attic\n\nkey=a=b ")).toEqual({
    labels: { gpu: "yes", room: "attic", key: "a=b" },
    bad: undefined,
  });
});

test.each(["gpu", "=yes", "gpu="])("what is no label is named: %s", (text) => {
  expect(readLabels(`room=attic, ${text}`).bad).toBe(text);
});

test("a label that was taken out of the text is removed by an empty value", () => {
  const before = { gpu: "yes", room: "attic" };
  const { labels } = readLabels(writeLabels(before).replace("gpu=yes\n", ""));
  expect(labelChange(before, labels)).toEqual({ gpu: "", room: "attic" });
});
