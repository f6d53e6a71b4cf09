/**
 * Prompt files: a YAML list of `{role, content, name?}`, with whole lines `@assets/x.md` replaced by the file of that name.
 *
 * Included text is not searched for includes again, and all includes of one app share a budget of bytes.
 */

import { pathFault } from "./app-path.ts";
import type { Prompt } from "./assistant.ts";
import { checkObject } from "./shape/check-shape.ts";
import { PROMPT_SHAPE } from "./shape/settings-shape.ts";
import { entryOf, type SourceNode } from "./source-node.ts";
import type { SourceReader } from "./source-reader.ts";

const MAX_PROMPTS = 200;
const MAX_INCLUDED_CHARACTERS = 16 * 1024 * 1024;
const ASSET_LINE = /^([ \t]*)@assets\/(\S+)[ \t]*$/;
const ASSET_KINDS = ["md", "yml", "yaml", "json", "txt"];
const ROLES = ["system", "user", "assistant"] as const;

/** Reads the prompt files of one app. */
export class PromptReader {
  readonly #source: SourceReader;
  #includedCharacters = 0;

  constructor(source: SourceReader) {
    this.#source = source;
  }

  /** The prompts of one file; empty when there is no such file or it has errors. `assetFolder` ends in no slash. */
  read(path: string, assetFolder: string): readonly Prompt[] {
    const root = this.#source.yaml(path);
    if (root === undefined || root.kind === "null") return [];
    if (root.kind !== "list") {
      this.#source.log.error(path, root.line, "prompts must be a list: start each one with “- role: system”");
      return [];
    }
    if (root.items.length > MAX_PROMPTS) {
      this.#source.log.error(
        path,
        root.line,
        `${root.items.length} prompts; at most ${MAX_PROMPTS} are allowed in one file`,
      );
      return [];
    }
    return root.items.flatMap((item, index) => this.#prompt(item, index, { path, assetFolder }) ?? []);
  }

  #prompt(item: SourceNode, index: number, from: { path: string; assetFolder: string }): Prompt | undefined {
    const { path, assetFolder } = from;
    if (item.kind !== "object") {
      this.#source.log.error(path, item.line, `prompt ${index + 1} must be a mapping with role and content`);
      return undefined;
    }
    const context = { file: path, log: this.#source.log };
    if (!checkObject(context, `prompt ${index + 1}: `, item, PROMPT_SHAPE)) return undefined;
    const role = ROLES.find((known) => known === textOf(entryOf(item, "role")?.value));
    const content = entryOf(item, "content")?.value;
    if (role === undefined || content?.kind !== "string") return undefined;
    const name = textOf(entryOf(item, "name")?.value);
    const text = this.#include(content.value, content.textLine, path, assetFolder);
    return { role, content: text, ...(name === undefined ? {} : { name }) };
  }

  #include(content: string, firstLine: number, path: string, assetFolder: string): string {
    if (!content.includes("@assets/")) return content;
    const lines = content.split("\n").map((text, index) => {
      const match = ASSET_LINE.exec(text);
      if (match === null) return text;
      const [, indent = "", asset = ""] = match;
      const included = this.#asset(asset, firstLine + index, path, assetFolder);
      return included === undefined ? text : indentLines(included, indent);
    });
    return lines.join("\n");
  }

  #asset(asset: string, line: number, path: string, assetFolder: string): string | undefined {
    const fault = pathFault(asset);
    const kind = asset.slice(asset.lastIndexOf(".") + 1).toLowerCase();
    const target = `${assetFolder}/${asset}`;
    if (fault !== undefined) this.#source.log.error(path, line, `@assets/${asset}: the path ${fault}`);
    else if (!ASSET_KINDS.includes(kind))
      this.#source.log.error(path, line, `@assets/${asset}: only ${ASSET_KINDS.join(", ")} files can be included`);
    else if (!this.#source.files.has(target))
      this.#source.log.error(path, line, `@assets/${asset}: there is no file ${target}`);
    else return this.#charge(this.#source.text(target), path, line);
    return undefined;
  }

  #charge(text: string | undefined, path: string, line: number): string | undefined {
    if (text === undefined) return undefined;
    if (this.#includedCharacters > MAX_INCLUDED_CHARACTERS) return undefined;
    this.#includedCharacters += text.length;
    if (this.#includedCharacters > MAX_INCLUDED_CHARACTERS) {
      this.#source.log.error(path, line, `the app includes more than ${MAX_INCLUDED_CHARACTERS} characters of assets`);
      return undefined;
    }
    return text.replaceAll("\r\n", "\n").replace(/\n$/, "");
  }
}

function indentLines(text: string, indent: string): string {
  if (indent === "") return text;
  return text
    .split("\n")
    .map((line) => (line === "" ? line : indent + line))
    .join("\n");
}

function textOf(node: SourceNode | undefined): string | undefined {
  return node?.kind === "string" ? node.value : undefined;
}
