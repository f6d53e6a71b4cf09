/** Loads skills from folders of `<name>/SKILL.md`. */

import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { TextDecoder } from "node:util";

import { errorText, MeshError } from "@mesh/kernel";

import { mergeSkills, type Skill } from "../skill.ts";
import { parseSkill } from "./skill-file.ts";

/** A skill or folder that could not be loaded. */
export interface SkillFault {
  readonly path: string;
  readonly text: string;
}

/** What was loaded and what was not. */
export interface LoadedSkills {
  readonly skills: readonly Skill[];
  /** In order of their paths. */
  readonly faults: readonly SkillFault[];
}

const MAX_SKILL_BYTES = 1_000_000;

/** Loads what can be loaded; a later folder's skill replaces an earlier one of its name, a broken one replaces nothing. */
export async function loadSkills(folders: readonly string[]): Promise<LoadedSkills> {
  const sets: (readonly Skill[])[] = [];
  const faults: SkillFault[] = [];
  for (const folder of folders) sets.push(await loadFolder(resolve(folder), faults));
  return { skills: mergeSkills(...sets), faults: faults.toSorted((a, b) => (a.path < b.path ? -1 : 1)) };
}

/** Like {@link loadSkills}, but the first fault is an error. */
export async function loadSkillsStrictly(folders: readonly string[]): Promise<readonly Skill[]> {
  const { skills, faults } = await loadSkills(folders);
  const [fault] = faults;
  if (fault !== undefined) throw new MeshError("invalid_argument", fault.text);
  return skills;
}

async function loadFolder(folder: string, faults: SkillFault[]): Promise<readonly Skill[]> {
  let names: readonly string[];
  try {
    names = (await readdir(folder)).toSorted();
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    if (!isMissing) faults.push({ path: folder, text: `${folder} could not be read: ${errorText(error)}` });
    return [];
  }
  const skills: Skill[] = [];
  for (const name of names) {
    const path = join(folder, name, "SKILL.md");
    try {
      const bytes = await readFile(path);
      if (bytes.length > MAX_SKILL_BYTES) throw new MeshError("invalid_argument", `${path} is too large`);
      skills.push(parseSkill(decode(bytes, path), name, path));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" && code !== "ENOTDIR") faults.push({ path, text: errorText(error) });
    }
  }
  return skills;
}

function decode(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new MeshError("invalid_argument", `${path} is not UTF-8 text`, { cause });
  }
}
