/** What a task becomes as an agent: instructions, examples and files, by rule from the task and its conversation. Pure. */

import type { AgentFile } from "@mesh/proto";

/** A question and what was answered to it. */
export interface Exchange {
  readonly asked: string;
  readonly answered: string;
}

/** A message of the conversation, as far as drafts read it. */
export interface SaidMessage {
  readonly role: string;
  readonly text: string;
}

/** A document that the task made. */
export interface TaskDocument {
  readonly path: string;
  readonly text: string;
}

/** What a draft is made of. */
export interface DraftSource {
  readonly key: string;
  readonly title: string;
  readonly description: string;
  readonly summary: string;
  readonly said: readonly SaidMessage[];
  readonly documents: readonly TaskDocument[];
}

/** A drafted agent. */
export interface AgentDraft {
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  /** JSONL of eval cases; empty when nothing was asked and answered. */
  readonly examples: string;
  /** Documents of the task and the examples, by path inside of the assistant's folder. */
  readonly files: readonly AgentFile[];
}

const MAX_NAME = 80;
const MAX_DESCRIPTION = 400;
const MAX_WISHES = 20;
const MAX_WISH = 2_000;
const MAX_EXAMPLES = 20;
const MAX_EXAMPLE = 8_000;
const MAX_FILES = 20;
const MAX_FILE = 64 * 1024;
const MAX_FILES_TOTAL = 256 * 1024;

/** Drafts the agent. */
export function draftAgent(source: DraftSource): AgentDraft {
  const exchanges = exchangesOf(source.said);
  const examples = exchanges
    .filter(({ asked, answered }) => asked.length <= MAX_EXAMPLE && answered.length <= MAX_EXAMPLE)
    .slice(-MAX_EXAMPLES)
    .map((exchange, index) => `${JSON.stringify(caseOf(source.key, exchange, index + 1))}\n`)
    .join("");
  const files = documentFiles(source.documents);
  return {
    name: cut(source.title, MAX_NAME),
    description: cut(source.summary || source.description || source.title, MAX_DESCRIPTION),
    instructions: literal(instructionsOf(source, files)),
    examples,
    files: examples === "" ? files : [...files, { path: "tests/inputs.jsonl", text: examples }],
  };
}

/** An id from a title: a slug of 2 to 48 characters. */
export function agentIdOf(title: string, key: string): string {
  const slug = title
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 48)
    .replace(/-+$/, "");
  // A title without Latin letters leaves nothing to name it by.
  return slug.length >= 2 ? slug : `task-agent-${key.toLowerCase()}`;
}

/** What people asked, each with the last thing that was said before the next question. */
function exchangesOf(said: readonly SaidMessage[]): readonly Exchange[] {
  const exchanges: { asked: string; answered: string }[] = [];
  for (const { role, text } of said) {
    if (text.trim() === "") continue;
    const last = exchanges.at(-1);
    if (role === "user") {
      if (last !== undefined && last.answered === "") last.asked = `${last.asked}\n${text}`;
      else exchanges.push({ asked: text, answered: "" });
    } else if (last !== undefined) last.answered = text;
  }
  return exchanges.filter(({ answered }) => answered !== "");
}

function caseOf(key: string, { asked, answered }: Exchange, n: number): Readonly<Record<string, unknown>> {
  return {
    id: `${key.toLowerCase()}-${n}`,
    name: cut(asked, 60),
    input: asked,
    // Any answer passes until somebody says what a good one must hold; what was answered then is there to look at.
    assert: { type: "regex", value: "\\S" },
    metadata: { task: key, answer: answered },
  };
}

function instructionsOf(source: DraftSource, files: readonly AgentFile[]): string {
  const wishes = source.said.filter(({ role, text }) => role === "user" && text.trim() !== "");
  const shown = wishes.slice(0, MAX_WISHES).map(({ text }) => `- ${cut(text, MAX_WISH).replaceAll("\n", "\n  ")}`);
  const material = files.map(({ path, text }) => `### ${path.replace(/^assets\//, "")}\n\n${text}`);
  return [
    `You do one kind of work: ${source.title}.`,
    source.description === "" ? "" : source.description,
    shown.length === 0
      ? ""
      : `What people asked for when this work was done before, in their words:\n\n${shown.join("\n")}`,
    source.summary === "" ? "" : `What came of it then: ${source.summary}`,
    material.length === 0 ? "" : `Documents of that work, as models for the form of yours:\n\n${material.join("\n\n")}`,
    "Do the same work for what you are asked now. Ask when something that you need is missing.",
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function documentFiles(documents: readonly TaskDocument[]): readonly AgentFile[] {
  const files: AgentFile[] = [];
  let total = 0;
  for (const { path, text } of documents.slice(0, MAX_FILES)) {
    const size = Buffer.byteLength(text);
    if (size === 0 || size > MAX_FILE || total + size > MAX_FILES_TOTAL) continue;
    total += size;
    files.push({ path: safePath(path), text });
  }
  return files;
}

/** Nothing that was said in a conversation becomes a variable, a template or an include of a prompt. */
function literal(text: string): string {
  return text.replaceAll(/\$(?=(?:SYS|ENV|CTX)\b)|@(?=assets\/)|\{(?=\{)/g, "$&\u2060");
}

/** Inside of the assistant's folder, whatever the document was called. */
function safePath(path: string): string {
  const parts = path
    .split(/[/\\]/)
    .filter((part) => part !== "" && part !== "." && part !== "..")
    .map((part) => part.replaceAll(/[^A-Za-z0-9._-]+/g, "-"));
  return `assets/${parts.join("/")}`;
}

function cut(text: string, max: number): string {
  const line = text.trim();
  return line.length <= max ? line : `${line.slice(0, max - 1).trimEnd()}…`;
}
