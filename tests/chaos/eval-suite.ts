/** A suite of eval cases whose results are known: some pass, some fail, some answer through a hook. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Assistant that the cases are for. */
export const SUITE_AGENT = "suite";

const FILES: Readonly<Record<string, string>> = {
  "app.yao": '{"name":"Suite"}',
  "assistants/suite/package.yao": '{"name":"Suite","connector":"demo"}',
  "assistants/suite/prompts.yml": "- role: system\n  content: Answer.\n",
  "assistants/suite/src/index.ts": `
    export function Next(ctx, payload) {
      const asked = payload.messages.at(-1).content;
      return asked.startsWith("/echo hooked") ? { data: { said: payload.completion.content.toUpperCase() } } : null;
    }`,
};

/** One case, and how it is to end. */
export interface SuiteCase {
  readonly id: string;
  readonly input: string;
  readonly assert: object;
}

/** The cases; each counting one takes about `caseMs`. */
export function suiteCases(count: number, caseMs: number): readonly SuiteCase[] {
  return Array.from({ length: count }, (_, n): SuiteCase => {
    const id = `case-${n}`;
    if (n % 10 === 3)
      return { id, input: `/echo hooked ${n}`, assert: { type: "json_path", path: "said", value: `HOOKED ${n}` } };
    if (n % 10 === 7) return { id, input: `/echo wrong ${n}`, assert: { type: "equals", value: `right ${n}` } };
    const text = `/count 5 every ${Math.max(1, Math.round(caseMs / 4))}ms`;
    return { id, input: text, assert: { type: "regex", value: "^1 2 3 4 5$" } };
  });
}

/** Writes the app and its cases; returns the paths. */
export function writeSuite(dir: string, cases: readonly SuiteCase[]): { readonly app: string; readonly input: string } {
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  const input = join(dir, "cases.jsonl");
  writeFileSync(input, cases.map((each) => JSON.stringify(each)).join("\n"));
  return { app: dir, input };
}
