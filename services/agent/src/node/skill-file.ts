/** Reads the frontmatter of a SKILL.md. Apart from the core, which does not load a YAML parser for it. */

import { isObject, MeshError } from "@mesh/kernel";
import { parse } from "yaml";

import type { Skill } from "../skill.ts";

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
