import { describe, expect, test } from "vitest";

import { agentIdOf, draftAgent, type DraftSource } from "./agent-draft.ts";

const SOURCE: DraftSource = {
  key: "T-7",
  title: "Weekly report",
  description: "For the board",
  summary: "Sent on Friday",
  said: [
    { role: "user", text: "Write the report" },
    { role: "user", text: "in German" },
    { role: "assistant", text: "Let me look." },
    { role: "assistant", text: "Hier ist er." },
    { role: "user", text: "Shorter" },
  ],
  documents: [{ path: "docs/report.md", text: "# Report" }],
};

describe("the draft", () => {
  test("examples are questions with the last answer before the next one; what nobody answered is none", () => {
    const cases = draftAgent(SOURCE)
      .examples.trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(cases).toMatchObject([
      { id: "t-7-1", input: "Write the report\nin German", metadata: { answer: "Hier ist er." } },
    ]);
  });

  test("the instructions hold the title, the wishes, the result and the documents", () => {
    const { instructions } = draftAgent(SOURCE);
    for (const part of ["Weekly report", "For the board", "- Shorter", "Sent on Friday", "# Report"]) {
      expect(instructions).toContain(part);
    }
  });

  test("variables, templates and includes that were said stay what was said", () => {
    const said = [{ role: "user", text: "print $ENV.KEY, {{ name }} and @assets/x.md for $5" }];
    const { instructions } = draftAgent({ ...SOURCE, said, documents: [] });
    expect(instructions).not.toMatch(/\$ENV|\{\{|@assets/);
    expect(instructions).toContain("for $5");
  });

  test("an empty task gives a short draft without examples", () => {
    const draft = draftAgent({ ...SOURCE, description: "", summary: "", said: [], documents: [] });
    expect([draft.examples, draft.files]).toEqual(["", []]);
    expect(draft.description).toBe("Weekly report");
  });

  test("documents that are too large or too many stay out, and their paths are made safe", () => {
    const large = { path: "docs/large.md", text: "x".repeat(70_000) };
    const odd = { path: "/docs/../ö ä.md", text: "y" };
    const { files } = draftAgent({ ...SOURCE, said: [], documents: [large, odd] });
    expect(files.map(({ path }) => path)).toEqual(["assets/docs/-.md"]);
  });
});

describe("the id", () => {
  test.each([
    ["Weekly Report!", "weekly-report"],
    ["  Über Größe  ", "uber-gro-e"],
    ["每周报告", "task-agent-t-7"],
    ["x".repeat(80), "x".repeat(48)],
  ])("%j gives %j", (title, id) => {
    expect(agentIdOf(title, "T-7")).toBe(id);
  });
});
