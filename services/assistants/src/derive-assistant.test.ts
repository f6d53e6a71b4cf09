import { expect, test } from "vitest";

import type { AppFiles } from "./app.ts";
import { demoAppDirectory } from "./demo-app.ts";
import { type Derivation, deriveAssistant } from "./derive-assistant.ts";
import { loadApp } from "./load-app.ts";
import { readAppDirectory } from "./app-directory.ts";

const WISH: Derivation = {
  sourceId: "notebook",
  id: "weekly-notes",
  name: "Weekly notes",
  description: "Collects the notes of a week",
  instructions: "Collect notes.\nAnswer with a list.",
  files: new Map([["tests/inputs.jsonl", '{"id":"1","input":"hi"}\n']]),
};

async function demoFiles(): Promise<AppFiles> {
  return readAppDirectory(demoAppDirectory);
}

test("the derived app loads, with the tools, models and scripts of its source, and without the other assistants", async () => {
  const { app, problems } = loadApp(deriveAssistant(await demoFiles(), WISH));
  expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
  expect([...app.assistants.keys()]).toEqual(["weekly-notes"]);
  const assistant = app.assistants.get("weekly-notes");
  expect(assistant).toMatchObject({ name: "Weekly notes", connector: "demo" });
  expect(assistant?.prompts.at(-1)).toMatchObject({ role: "system", content: WISH.instructions });
  expect([...app.mcpServers.keys()]).toContain("agents.weekly-notes.notes");
  expect([...app.models.keys()]).toContain("agents.weekly-notes.note");
});

test("further files lie in the assistant's folder", async () => {
  const files = deriveAssistant(await demoFiles(), WISH);
  expect(new TextDecoder().decode(files.get("assistants/weekly-notes/tests/inputs.jsonl"))).toContain('"input":"hi"');
});

test("references to the old id name the new one, and names that only begin alike stay", () => {
  const text = (value: string): Uint8Array => new TextEncoder().encode(value);
  const source: AppFiles = new Map([
    ["assistants/a/package.yao", text('{"name": "A", "connector": "demo"}')],
    ["assistants/a/src/index.ts", text('Process("agents.a.tools.Add"); Process("agents.ab.x");')],
    ["assistants/ab/package.yao", text('{"name": "AB", "connector": "demo"}')],
  ]);
  const files = deriveAssistant(source, { ...WISH, sourceId: "a" });
  expect([...files.keys()].some((path) => path.startsWith("assistants/ab/"))).toBe(false);
  expect(new TextDecoder().decode(files.get("assistants/weekly-notes/src/index.ts"))).toBe(
    'Process("agents.weekly-notes.tools.Add"); Process("agents.ab.x");',
  );
});

test("an assistant that is not there is named", () => {
  expect(() => deriveAssistant(new Map(), WISH)).toThrow("the app holds no assistant notebook");
});
