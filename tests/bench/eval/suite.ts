/** The cases and the app that ours runs; the peers get the same cases in their own form. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A case as it is the same for everybody: what is said, and two claims about the answer. */
export interface BenchCase {
  readonly id: string;
  readonly said: string;
  readonly contains: string;
  /** A pattern that RE2 and JavaScript read alike, but for the flag. */
  readonly pattern: string;
}

/** So many cases of echo work. */
export function benchCases(count: number): readonly BenchCase[] {
  return Array.from({ length: count }, (_none, n) => ({
    id: `c${n}`,
    said: `Hello number ${n}`,
    contains: "Hello",
    pattern: String.raw`number \d+`,
  }));
}

/** One line of a file of cases. */
export function caseLine({ id, said, contains, pattern }: BenchCase, before = ""): string {
  const assert = [
    { type: "contains", value: contains },
    { type: "regex", value: `(?i)${pattern}` },
  ];
  return JSON.stringify({ id, input: `${before}${said}`, assert });
}

/** Writes the app with its assistants: `echo` (the demo model), `hooked` (Create and Next), `http` (a provider at that address). */
export function writeApp(dir: string, providerUrl: string): void {
  const prompts = "- role: system\n  content: Repeat.\n";
  const files: Readonly<Record<string, string>> = {
    "app.yao": '{"name":"Bench"}',
    "assistants/echo/package.yao": '{"name":"Echo","connector":"demo"}',
    "assistants/echo/prompts.yml": prompts,
    "assistants/hooked/package.yao": '{"name":"Hooked"}',
    "assistants/hooked/src/index.ts":
      "export function Create(ctx, messages) { return { messages }; }\nexport function Next(ctx, payload) { return { data: payload.messages.at(-1).content }; }\n",
    "assistants/http/package.yao": '{"name":"Http","connector":"provider"}',
    "assistants/http/prompts.yml": prompts,
    "connectors/provider.conn.yao": JSON.stringify({
      type: "openai",
      options: { model: "m", key: "k", host: providerUrl },
    }),
    "one.jsonl": benchCases(1)
      .map((each) => caseLine(each, "/echo "))
      .join("\n"),
    "echo-10k.jsonl": benchCases(10_000)
      .map((each) => caseLine(each, "/echo "))
      .join("\n"),
    "echo-100k.jsonl": benchCases(100_000)
      .map((each) => caseLine(each, "/echo "))
      .join("\n"),
    "plain-1k.jsonl": benchCases(1_000)
      .map((each) => caseLine(each))
      .join("\n"),
    "plain-2k.jsonl": benchCases(2_000)
      .map((each) => caseLine(each))
      .join("\n"),
    // Answers of 150,000 characters: a thousand are 150 MB.
    "long-7k.jsonl": benchCases(7_000)
      .map(({ id }) => JSON.stringify({ id, input: "/bytes 150000" }))
      .join("\n"),
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
}
