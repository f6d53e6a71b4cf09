/**
 * The folder `mapping/<server>/` of an MCP server: `schemes/<tool>.in.yao`, `.out.yao` and samples `<tool>.jsonl`,
 * `resources/<name>.res.yao` and samples, `prompts/<name>.pmt.yao`.
 */

import { isObject, type Json, type JsonObject } from "@mesh/kernel";

import type { Home, Loading } from "./loading.ts";
import type { McpPromptFile, McpResourceFile, McpServerFile, McpToolFile } from "./mcp-server-file.ts";
import { checkRoot, checkShape } from "./shape/check-shape.ts";
import {
  PROMPT_TEMPLATE_SHAPE,
  RESOURCE_SHAPE,
  SAMPLE_SHAPE,
  TOOL_INPUT_SHAPE,
  TOOL_OUTPUT_SHAPE,
} from "./shape/mcp-shape.ts";
import type { ObjectShape } from "./shape/shape.ts";
import { entryOf, plainObject } from "./source-node.ts";

const MAX_SAMPLES = 1000;
const PROCESS_ARGS = "x-process-args";
const WHOLE_ARGS = [":arguments", ":uri", ":parameters"];
const MAPPING_FILE =
  /^(?:mcps\/)?mapping\/.+\/(?:schemes|resources|prompts)\/[^/]+\.(?:(?:in|out|res|pmt)\.yao|jsonl)$/;

type Mapping = McpServerFile["mapping"];

/** Reads the descriptions of the servers of one folder; each file once, however many servers share it. */
export class MappingReader {
  readonly #loading: Loading;
  readonly #base: string;
  readonly #read = new Map<string, { readonly mapping: Mapping; readonly hasErrors: boolean }>();
  readonly #used = new Set<string>();

  constructor(loading: Loading, home: Home) {
    this.#loading = loading;
    this.#base = home.base;
  }

  /** What a folder such as `mapping/echo` says, in `mcps/` or beside it; undefined when it has errors. */
  read(where: string): Mapping | undefined {
    const known = this.#read.get(where) ?? this.#readFolders([`${this.#base}mcps/${where}`, `${this.#base}${where}`]);
    this.#read.set(where, known);
    return known.hasErrors ? undefined : known.mapping;
  }

  /** Reports descriptions of servers that do not exist, one line for each folder. */
  reportStray(): void {
    const { paths, log } = this.#loading;
    const base = this.#base;
    const reported = new Set<string>();
    for (const path of [...paths.under(`${base}mcps/mapping`), ...paths.under(`${base}mapping`)]) {
      if (this.#used.has(path) || !MAPPING_FILE.test(path.slice(base.length))) continue;
      const folder = path.slice(0, path.lastIndexOf("/"));
      if (reported.has(folder)) continue;
      reported.add(folder);
      const server = folder.slice(folder.lastIndexOf("mapping/") + "mapping/".length, folder.lastIndexOf("/"));
      log.warn(path, 0, `no MCP server reads this: there is no ${base}mcps/${server}.mcp.yao`);
    }
  }

  /** Of two files for one thing the first folder's counts. */
  #readFolders(folders: readonly string[]): { mapping: Mapping; hasErrors: boolean } {
    const errorsBefore = this.#loading.log.errorCount;
    const mapping = {
      tools: this.#each(folders, "schemes", /\.(?:in\.yao|out\.yao|jsonl)$/, (find) => this.#tool(find)),
      resources: this.#each(folders, "resources", /\.(?:res\.yao|jsonl)$/, (find) => this.#resource(find)),
      prompts: this.#each(folders, "prompts", /\.pmt\.yao$/, (find) => this.#prompt(find)),
    };
    return { mapping, hasErrors: this.#loading.log.errorCount > errorsBefore };
  }

  #each<T>(
    folders: readonly string[],
    kind: string,
    endings: RegExp,
    read: (find: Find) => T | undefined,
  ): Readonly<Record<string, T>> {
    const { paths, source } = this.#loading;
    const places = folders.map((folder) => `${folder}/${kind}`);
    const found = new Map<string, T>();
    for (const place of places) {
      for (const path of paths.under(place)) {
        const name = path.slice(place.length + 1).replace(endings, "");
        if (name === path.slice(place.length + 1) || name.includes("/")) continue;
        this.#used.add(path);
        if (found.has(name)) continue;
        const candidates = (ending: string): string[] => places.map((other) => `${other}/${name}${ending}`);
        const value = read((ending) => candidates(ending).find((candidate) => source.files.has(candidate)));
        if (value !== undefined) found.set(name, value);
      }
    }
    return Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  #tool(find: Find): McpToolFile | undefined {
    const input = this.#object(find(".in.yao"), TOOL_INPUT_SHAPE);
    const output = this.#object(find(".out.yao"), TOOL_OUTPUT_SHAPE);
    const samples = this.#samples(find(".jsonl"));
    const processArgs = input === undefined ? undefined : processArgsOf(input);
    return {
      input: input === undefined ? {} : schemaOf(input, "inputSchema"),
      ...(output === undefined ? {} : { output: schemaOf(output, "outputSchema") }),
      ...(processArgs === undefined ? {} : { processArgs }),
      samples,
    };
  }

  #resource(find: Find): McpResourceFile | undefined {
    const plain = this.#object(find(".res.yao"), RESOURCE_SHAPE) ?? {};
    const { [PROCESS_ARGS]: _, ...fields } = plain;
    const processArgs = processArgsOf(plain);
    const samples = this.#samples(find(".jsonl"));
    // Checked against the shape, which has the same fields.
    return { ...(fields as Omit<McpResourceFile, "samples">), ...(processArgs && { processArgs }), samples };
  }

  #prompt(find: Find): McpPromptFile | undefined {
    return this.#object(find(".pmt.yao"), PROMPT_TEMPLATE_SHAPE);
  }

  #object(path: string | undefined, shape: ObjectShape): JsonObject | undefined {
    if (path === undefined) return undefined;
    const { source, log } = this.#loading;
    const root = source.json(path);
    if (root === undefined) return undefined;
    if (root.kind !== "object") {
      log.error(path, root.line, "the file must hold an object");
      return undefined;
    }
    if (!checkRoot({ file: path, log }, root, shape)) return undefined;
    const args = entryOf(root, PROCESS_ARGS)?.value;
    for (const item of args?.kind === "list" ? args.items : []) {
      if (item.kind !== "string" || !item.value.startsWith(":") || WHOLE_ARGS.includes(item.value)) continue;
      log.warn(path, item.line, `${item.value.slice(0, 40)} stands for itself; known are ${WHOLE_ARGS.join(", ")}`);
    }
    const { $schema: _, ...plain } = plainObject(root);
    return plain;
  }

  #samples(path: string | undefined): readonly JsonObject[] {
    if (path === undefined) return [];
    const { source, log } = this.#loading;
    return (source.jsonLines(path, MAX_SAMPLES) ?? []).flatMap((line) => {
      const isGood = checkShape({ file: path, log }, "a sample", line, SAMPLE_SHAPE);
      return isGood && line.kind === "object" ? [plainObject(line)] : [];
    });
  }
}

/** Path of the file with an ending such as `.in.yao`, when there is one. */
type Find = (ending: string) => string | undefined;

/** The schema itself, whether the file is one or describes a tool with one inside. */
function schemaOf(file: JsonObject, inner: "inputSchema" | "outputSchema"): JsonObject {
  const { [inner]: nested, name: _, [PROCESS_ARGS]: __, ...rest } = file;
  if (!isObject(nested)) return rest;
  const { description } = rest;
  const { [PROCESS_ARGS]: ___, ...schema } = nested;
  return description === undefined ? schema : { description, ...schema };
}

function processArgsOf(file: JsonObject): readonly Json[] | undefined {
  const inner = file["inputSchema"];
  for (const value of [file[PROCESS_ARGS], isObject(inner) ? inner[PROCESS_ARGS] : undefined]) {
    if (Array.isArray(value)) return value;
  }
  return undefined;
}
