import { describe, expect, test } from "vitest";

import { sharedMessages, sharedText } from "./shared-view.ts";

const at = "2026-01-01T00:00:00Z";

describe("messages", () => {
  test("texts and names of tools are shown; arguments, results and thoughts are not (V1)", () => {
    const shown = sharedMessages([
      { role: "user", at, body: { type: "text", props: { content: "hello" } } },
      { role: "assistant", at, body: { type: "thinking", props: { content: "secret thought" } } },
      {
        role: "assistant",
        at,
        body: { type: "tool_call", props: { name: "bash", arguments: { command: "cat .env" } } },
      },
      { role: "assistant", at, body: { type: "tool_result", props: { content: "PASSWORD=1" } } },
      { role: "assistant", at, body: { type: "error", props: { message: "at /home/ann/x" } } },
      { role: "assistant", at, body: "no object" },
      { role: "assistant", at, body: { type: "text", props: { content: "  " } } },
    ]);
    expect(shown.map(({ message }) => message)).toEqual([
      { type: "text", props: { content: "hello" } },
      { type: "tool_call", props: { name: "bash" } },
      { type: "error", props: { content: "the work failed here" } },
    ]);
  });
});

describe("texts", () => {
  test.each([
    ["key sk-abcdefghijklmnopqrstuv here", "key [redacted] here"],
    ["ghp_abcdefghijklmnopqrstuvwxyz012345", "[redacted]"],
    ["AKIAABCDEFGHIJKLMNOP", "[redacted]"],
    ["postgres://ann:pw123@db/x", "postgres://ann:[redacted]@db/x"],
    ["-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY----- after", "[redacted] after"],
    ["see /home/ann/work/a.md", "see ~/work/a.md"],
    ["see /Users/ann/a.md and C:\\Users\\ann\\b", "see ~/a.md and ~\\b"],
    ["/root/.ssh/id", "~/.ssh/id"],
    ["a path docs/home/plan.md stays", "a path docs/home/plan.md stays"],
  ])("%j becomes %j (V2)", (text, expected) => {
    expect(sharedText(text)).toBe(expected);
  });
});
