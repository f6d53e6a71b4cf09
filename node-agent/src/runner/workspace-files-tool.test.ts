import type { ToolContext } from "@mesh/agent";
import type { Json, JsonObject } from "@mesh/kernel";
import { expect, test } from "vitest";

import { workspaceFilesTool } from "./workspace-files-tool.ts";

/** What the tool says, and what it asked. */
async function use(args: JsonObject, answer: Json): Promise<readonly [text: string, asked: Json]> {
  let asked: Json = null;
  const tool = workspaceFilesTool({
    call: (service, method, [request = null]) => {
      asked = [service, method, request];
      return Promise.resolve(answer);
    },
  });
  const context = { signal: new AbortController().signal } as ToolContext;
  const output = await tool.execute?.(args, context);
  const [first] = output?.content ?? [];
  return [first?.type === "text" ? first.text : "", asked];
}

test("lists where files are, and since when their devices are off", async () => {
  const files = [
    { path: "docs", node: "a", is_directory: true, size_bytes: 0 },
    { path: "docs/x.md", node: "b", is_directory: false, size_bytes: 7, offline_since: "2026-01-01T00:00:00Z" },
  ];
  expect(await use({ action: "search", query: "x" }, files)).toEqual([
    "docs\tdirectory\ton a\ndocs/x.md\t7 bytes\ton b, off since 2026-01-01T00:00:00Z",
    ["files", "List", { path: "", node: "", query: "x", recursive: true }],
  ]);
  expect((await use({ action: "list" }, []))[0]).toBe("No such files on any device.");
});

test("reads a part of a text and says how to go on; a file that is no text is refused", async () => {
  const answer = (bytes: Buffer, size: number): JsonObject => ({
    base64: bytes.toString("base64"),
    file: { size_bytes: size },
  });
  const [text, asked] = await use(
    { action: "read", path: "a.txt", device: "b", offset: 2 },
    answer(Buffer.from("cdef"), 10),
  );
  expect(text).toBe("cdef\n\n[bytes 2 to 6 of 10; go on with offset 6]");
  expect(asked).toEqual(["files", "Read", { path: "a.txt", node: "b", offset: 2, limit: 262_144 }]);
  await expect(use({ action: "read", path: "a.bin" }, answer(Buffer.from([1, 0, 2]), 3))).rejects.toThrow("no text");
  await expect(use({ action: "read" }, null)).rejects.toThrow("name the file");
});

test("shows the last known text of a document whose device is off", async () => {
  const answer = { last_known_text: "words", reason: "docs/a.md is on b, which is off" };
  expect((await use({ action: "read", path: "docs/a.md" }, answer))[0]).toBe(
    "docs/a.md is on b, which is off\nIts last known text:\n\nwords",
  );
});
