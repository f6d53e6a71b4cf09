/** Names and labels of nodes. Pure. */

import { isId, MeshError } from "@mesh/kernel";

const NAME = /^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$/;
const LABEL_KEY = /^[a-zA-Z0-9]([a-zA-Z0-9._/-]{0,62})$/;
const LABEL_VALUE = /^[a-zA-Z0-9._-]{0,63}$/;
const MAX_LABELS = 32;
const MAX_NAME = 63;

/** A host name or wish turned into a node name, or an error that says what a name looks like. */
export function checkName(wish: string): string {
  const plain = wish
    .toLowerCase()
    .replace(/\.local$/, "")
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replaceAll(/^[._-]+/g, "");
  const name = cutName(plain, MAX_NAME);
  if (name === "") return "device";
  if (!NAME.test(name))
    throw new MeshError(
      "invalid_argument",
      `"${wish}" cannot be a device name: use letters, digits, dots and dashes, at most 63`,
    );
  // A device is found by its name or its id: one must never look like the other.
  if (isId("node", name)) throw new MeshError("invalid_argument", `"${wish}" is the id of a device; choose a name`);
  return name;
}

/** The first name of `name`, `name-2`, `name-3`, ... that is not taken. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let i = 2; taken.has(free); i += 1) {
    const suffix = `-${i}`;
    free = `${cutName(name, MAX_NAME - suffix.length)}${suffix}`;
  }
  return free;
}

function cutName(name: string, length: number): string {
  return name.slice(0, length).replaceAll(/[._-]+$/g, "");
}

/** Throws unless every label is a key and value that can be written as key=value. */
export function checkLabels(labels: Readonly<Record<string, string>>): void {
  const entries = Object.entries(labels);
  if (entries.length > MAX_LABELS) throw new MeshError("invalid_argument", `at most ${MAX_LABELS} labels are allowed`);
  for (const [key, value] of entries) {
    if (!LABEL_KEY.test(key) || !LABEL_VALUE.test(value)) {
      throw new MeshError(
        "invalid_argument",
        `label "${key}=${value}" is not valid: a key starts with a letter or digit, keys and values hold letters, digits, dots, dashes and underscores, at most 63`,
      );
    }
  }
}
