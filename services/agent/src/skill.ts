/** Skills: instructions in files that a model opens when it needs them; the prompt only lists them. */

import { isObject, MeshError } from "@mesh/kernel";
import { parse } from "yaml";

/** One skill, as its file describes it. */
export interface Skill {
  /** Name of its directory. */
  readonly name: string;
  readonly description: string;
  /** Absolute path of its SKILL.md. */
  readonly path: string;
  /** Everything else of its frontmatter. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

const FRONTMATTER = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/;
const MAX_FRONTMATTER_CHARS = 64_000;

/** Reads a SKILL.md; throws `invalid_argument` naming the path and what is missing. */
export function parseSkill(text: string, directoryName: string, path: string): Skill {
  const match = FRONTMATTER.exec(text.slice(0, MAX_FRONTMATTER_CHARS));
  if (match === null) throw invalid(path, 'has no frontmatter between "---" lines at its top');
  let fields: unknown;
  try {
    fields = parse(match[1] ?? "", { maxAliasCount: 100 });
  } catch (cause) {
    throw new MeshError("invalid_argument", `${path}: the frontmatter is not YAML`, { cause });
  }
  if (!isObject(fields)) throw invalid(path, "has no fields in its frontmatter");
  const { name, description, ...metadata } = fields;
  if (typeof name !== "string" || name.trim() === "") throw invalid(path, 'has no "name"');
  if (typeof description !== "string" || description.trim() === "") throw invalid(path, 'has no "description"');
  // The directory is what people see and override by; a differing name inside would make two of one.
  return { name: directoryName, description: description.trim(), path, metadata };
}

function invalid(path: string, what: string): MeshError {
  return new MeshError("invalid_argument", `${path} ${what}`);
}

/** Skills by name, sorted; a later one of the same name wins. */
export function mergeSkills(...sets: readonly (readonly Skill[])[]): readonly Skill[] {
  const byName = new Map(sets.flat().map((skill) => [skill.name, skill]));
  return [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The index of skills for a system prompt; empty for none. */
export function skillIndex(skills: readonly Skill[]): string {
  if (skills.length === 0) return "";
  const rows = skills.map(
    (skill) =>
      `  <skill>\n    <name>${escapeXml(skill.name)}</name>\n    <description>${escapeXml(skill.description)}</description>\n` +
      `    <location>${escapeXml(skill.path)}</location>\n  </skill>`,
  );
  return (
    "Skills are instructions for special tasks. When a task matches a description, read the file at its location first.\n" +
    `<available_skills>\n${rows.join("\n")}\n</available_skills>`
  );
}

/** A system prompt from its parts, empty ones left out, a blank line between the others. */
export function joinPrompt(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
