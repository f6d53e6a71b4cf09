import { expect, test } from "vitest";

import { workspacePath } from "./workspace-path.ts";

test("a workspace has a directory of its own below the device's data", () => {
  expect(workspacePath("/data", "ws_01k")).toBe("/data/workspaces/ws_01k");
});

test.each(["", ".", "..", "../x", "a/b", "a\\b", "a\0", "x".repeat(65)])("%j is no workspace id", (id) => {
  expect(() => workspacePath("/data", id)).toThrow(/workspace id/);
});
