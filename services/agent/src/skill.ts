/** Skills: instructions in files that a model opens when it needs them; the prompt only lists them. */

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
