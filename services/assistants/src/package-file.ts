/** package.yao: the configuration of one assistant. */

import { isObject, type JsonObject } from "@mesh/kernel";

import type { Assistant } from "./app.ts";
import { PACKAGE_FIELDS } from "./package-shape.ts";
import { checkFields } from "./shape.ts";
import { entryOf, plainJson } from "./source-node.ts";
import type { SourceReader } from "./source-reader.ts";

/** What package.yao alone says about an assistant. */
export type PackageFields = Omit<Assistant, "id" | "prompts" | "promptPresets" | "locales">;

/** Reads a package.yao; undefined when it has errors. */
export function readPackage(source: SourceReader, path: string): PackageFields | undefined {
  const root = source.json(path);
  if (root === undefined) return undefined;
  const { log } = source;
  if (root.kind !== "object") {
    log.error(path, root.line, "package.yao must be an object");
    return undefined;
  }
  if (!checkFields({ file: path, log }, "", root, PACKAGE_FIELDS)) return undefined;
  const name = entryOf(root, "name");
  if (name?.value.kind === "string" && name.value.value.trim() === "") {
    log.error(path, name.line, "name is empty: say what people shall call this assistant");
    return undefined;
  }
  const plain = plainJson(root);
  return isObject(plain) ? fromJson(plain) : undefined;
}

// Every field was checked against its shape, so that a value of another kind means: absent.
function fromJson(source: JsonObject): PackageFields {
  const connector = textAt(source, "connector");
  const avatar = textAt(source, "avatar");
  const options = source["options"];
  const type = textAt(source, "type");
  return {
    name: textAt(source, "name"),
    description: textAt(source, "description"),
    type: type === "" ? "assistant" : type,
    ...(connector === "" ? {} : { connector }),
    ...(avatar === "" ? {} : { avatar }),
    tags: textsAt(source, "tags"),
    options: isObject(options) ? options : {},
    disableGlobalPrompts: source["disable_global_prompts"] === true,
    isPublic: source["public"] === true,
    readonly: source["readonly"] === true,
    mentionable: source["mentionable"] === true,
    automated: source["automated"] === true,
    sort: typeof source["sort"] === "number" ? source["sort"] : 0,
    modes: textsAt(source, "modes"),
    source,
  };
}

function textAt(source: JsonObject, key: string): string {
  const value = source[key];
  return typeof value === "string" ? value : "";
}

function textsAt(source: JsonObject, key: string): readonly string[] {
  const value = source[key];
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
