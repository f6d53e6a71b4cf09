import { describe, expect, test } from "vitest";

import { MemoryBackend, SharedState, sharedStateSection, sharedStateTool } from "./shared-state.ts";
import type { ToolContext } from "./tool.ts";

const context = {} as ToolContext;

async function call(state: SharedState, args: Record<string, string>): Promise<unknown> {
  const output = await sharedStateTool(state).execute?.(args, context);
  return output?.content[0];
}

describe("the store", () => {
  test("evicts stashed output, oldest first, each logged, and never what callers stored", async () => {
    const evicted: unknown[] = [];
    const state = new SharedState(new MemoryBackend(100, (_level, _text, { key }) => void evicted.push(key)));
    await state.set("mine", "x".repeat(20));
    await state.set("tool-out-1", "x".repeat(20));
    await state.set("tool-out-2", "x".repeat(20));
    await state.set("more", "x".repeat(20));
    expect(evicted).toEqual(["tool-out-1"]);
    await expect(state.set("big", "x".repeat(90))).rejects.toThrow("full");
    expect(await state.keys()).toEqual(["mine", "tool-out-2", "more"]);
  });

  test("a value over the bound is refused and leaves the store as it was", async () => {
    const state = new SharedState(new MemoryBackend(50));
    await state.set("tool-out-1", "x");
    await expect(state.set("k", "x".repeat(51))).rejects.toThrow("full");
    expect(await state.keys()).toEqual(["tool-out-1"]);
  });

  test("replacing a value counts it once", async () => {
    const state = new SharedState(new MemoryBackend(30));
    await state.set("k", "x".repeat(25));
    await state.set("k", "y".repeat(25));
    expect(await state.get("k")).toBe("y".repeat(25));
  });
});

describe("scopes", () => {
  test("see only their own, cannot be left, nest, and are seen by the parent", async () => {
    const root = new SharedState();
    const a = root.scoped("a");
    const b = root.scoped("b");
    await a.set("k", "of a");
    await b.set("k", "of b");
    await a.scoped("deep").set("k", "of deep");
    expect(await b.get("k")).toBe("of b");
    expect(await b.get("\u001fa\u001fk")).toBeUndefined();
    expect(await root.get("a\u001fk")).toBe("of a");
    expect(await b.keys()).toEqual(["k"]);
    expect(await root.keys()).toHaveLength(3);
    expect(await b.summary()).toBe("k (4 bytes)");
  });

  test("stashed output in a scope can be evicted", async () => {
    const root = new SharedState(new MemoryBackend(60));
    await root.scoped("a").set("tool-out-1", "x".repeat(30));
    await root.set("k", "x".repeat(40));
    expect(await root.keys()).toEqual(["k"]);
  });
});

describe("the tool", () => {
  test("sets, gets, lists and removes", async () => {
    const state = new SharedState();
    expect(await call(state, { action: "list" })).toMatchObject({ text: "(empty)" });
    await call(state, { action: "set", key: "k", value: "v" });
    expect(await call(state, { action: "get", key: "k" })).toMatchObject({ text: "v" });
    await call(state, { action: "remove", key: "k" });
    await expect(call(state, { action: "get", key: "k" })).rejects.toThrow("nothing is stored");
  });

  test.each([
    [{ action: "set", key: "k" }, "value"],
    [{ action: "get" }, "key"],
    [{ action: "fly", key: "k" }, "unknown action"],
  ])("%j is refused by name", async (args, text) => {
    await expect(call(new SharedState(), args as unknown as Record<string, string>)).rejects.toThrow(text);
  });

  test("parallel writers lose nothing, and the prompt hides stashed output", async () => {
    const state = new SharedState();
    await Promise.all(Array.from({ length: 50 }, (_, index) => state.set(`k${index}`, "v")));
    await state.set("tool-out-x", "v");
    expect(await state.keys()).toHaveLength(51);
    expect(await sharedStateSection(state)).not.toContain("tool-out");
  });
});
