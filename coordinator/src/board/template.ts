/** Texts with {{variables}}. Pure. */

import { MeshError } from "@mesh/kernel";

import type { StoredPlacementWish } from "./task-row.ts";

/** A template as stored. */
export interface StoredTemplate {
  readonly title: string;
  readonly message: string;
  readonly description: string;
  readonly assistant: string;
  readonly priority: string;
  readonly labels: readonly string[];
  readonly placement?: RequirementsLike;
}

type RequirementsLike = Required<StoredPlacementWish>;

const VARIABLE = /\{\{\s*([\p{L}\p{N}_.-]{1,64})\s*\}\}/gu;

/** Names of the variables in the texts of a template, in order of appearance. */
export function variablesOf({ title, message, description }: StoredTemplate): readonly string[] {
  const names = [title, message, description].flatMap((text) =>
    [...text.matchAll(VARIABLE)].map((match) => match[1] ?? ""),
  );
  return [...new Set(names)];
}

/** The template with its variables in place; throws `invalid_argument` for those that are missing or unknown. */
export function fillTemplate(template: StoredTemplate, values: Readonly<Record<string, string>>): StoredTemplate {
  const names = variablesOf(template);
  const missing = names.filter((name) => !Object.hasOwn(values, name));
  const unknown = Object.keys(values).filter((name) => !names.includes(name));
  if (missing.length > 0) throw new MeshError("invalid_argument", `give a value for: ${missing.join(", ")}`);
  if (unknown.length > 0) {
    throw new MeshError(
      "invalid_argument",
      `the template has no ${unknown.join(", ")}; it has: ${names.join(", ") || "no variables"}`,
    );
  }
  // A value is put in as it is: what looks like a variable in it stays text.
  const fill = (text: string): string => text.replaceAll(VARIABLE, (_all, name: string) => values[name] ?? "");
  return {
    ...template,
    title: fill(template.title),
    message: fill(template.message),
    description: fill(template.description),
  };
}
