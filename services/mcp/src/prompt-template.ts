/** Templates of prompts: `{{name}}` and `{{#if name}} … {{else}} … {{/if}}`, nested. Pure; anything else stays as written. */

import type { Json, JsonObject } from "@mesh/kernel";

const TAG = /\{\{\s*(#if\s+[\w.-]+|else|\/if|[\w.-]+)\s*\}\}/g;
const MAX_DEPTH = 50;
/** Arguments of prompts are texts, so a `false` often comes as one. */
const FALSE: ReadonlySet<unknown> = new Set([undefined, null, false, "", 0, "false"]);

interface Branch {
  readonly condition: boolean;
  /** Whether text around it is kept. */
  readonly wasShown: boolean;
}

/** The template with its arguments filled in; a missing one is the empty text. */
export function renderTemplate(template: string, args: JsonObject): string {
  const open: Branch[] = [];
  let isShown = true;
  let out = "";
  let from = 0;
  for (const tag of template.matchAll(TAG)) {
    if (isShown) out += template.slice(from, tag.index);
    from = tag.index + tag[0].length;
    const name = tag[1] ?? "";
    const branch = open.at(-1);
    if (name.startsWith("#if") && open.length < MAX_DEPTH) {
      const condition = isTrue(argument(args, name.slice(3).trim()));
      open.push({ condition, wasShown: isShown });
      isShown &&= condition;
    } else if (name === "else" && branch !== undefined) {
      isShown = branch.wasShown && !branch.condition;
    } else if (name === "/if") {
      isShown = open.pop()?.wasShown ?? isShown;
    } else if (isShown) {
      out += textOf(argument(args, name));
    }
  }
  return isShown ? out + template.slice(from) : out;
}

function argument(args: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(args, name) ? args[name] : undefined;
}

function isTrue(value: Json | undefined): boolean {
  return !FALSE.has(value);
}

function textOf(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
