/** Reads the configuration files of one app, reports what is wrong with them, and bounds what reading them costs. */

import type { AppFiles } from "./app.ts";
import { parseJsonSource } from "./json-source.ts";
import type { ProblemLog } from "./problem-log.ts";
import { MAX_CONFIG_TOKENS, type ParsedSource, type SourceNode } from "./source-node.ts";
import { parseYamlSource } from "./yaml-source.ts";

const MAX_CONFIG_BYTES = 1024 * 1024;
// A file may cost a good second at its bound, and an app has many files: this keeps one push from holding up all others.
const MAX_APP_TOKENS = 5 * MAX_CONFIG_TOKENS;

/** The files of one app as text and trees. */
export class SourceReader {
  readonly files: AppFiles;
  readonly log: ProblemLog;
  #tokenCount = 0;

  constructor(files: AppFiles, log: ProblemLog) {
    this.files = files;
    this.log = log;
  }

  /** The tree of a JSON file; undefined when it does not exist or after reporting why there is none. */
  json(path: string): SourceNode | undefined {
    return this.#parse(path, parseJsonSource);
  }

  /** The tree of a YAML file; undefined when it does not exist or after reporting why there is none. */
  yaml(path: string): SourceNode | undefined {
    return this.#parse(path, parseYamlSource);
  }

  /** The trees of a file with one JSON value per line; undefined as above, or when a line is not one. */
  jsonLines(path: string, maxLines: number): readonly SourceNode[] | undefined {
    const text = this.text(path);
    if (text === undefined) return undefined;
    const lines = text
      .split("\n", maxLines + 1)
      .flatMap((line, index) => (line.trim() === "" ? [] : [{ line, index }]));
    if (lines.length > maxLines) {
      this.log.error(path, 0, `more than ${maxLines} lines; split the file`);
      return undefined;
    }
    const roots = lines.map(({ line, index }) => this.#parseText(path, line, (one) => parseJsonSource(one, index + 1)));
    return roots.every((root) => root !== undefined) ? roots : undefined;
  }

  /** The text of a file; undefined when it does not exist or after reporting why it is none. */
  text(path: string): string | undefined {
    const bytes = this.files.get(path);
    if (bytes === undefined) return undefined;
    if (bytes.length > MAX_CONFIG_BYTES) {
      this.log.error(path, 0, `the file has ${bytes.length} bytes; at most ${MAX_CONFIG_BYTES} are read, split it`);
      return undefined;
    }
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      this.log.error(path, 0, "the file is not UTF-8 text; save it as UTF-8");
      return undefined;
    }
  }

  #parse(path: string, parse: (text: string) => ParsedSource): SourceNode | undefined {
    const text = this.text(path);
    return text === undefined ? undefined : this.#parseText(path, text, parse);
  }

  #isSpent(path: string): boolean {
    if (this.#tokenCount <= MAX_APP_TOKENS) return false;
    this.log.error(path, 0, "not read: the configuration files of this app are too large together; split the app");
    return true;
  }

  #parseText(path: string, text: string, parse: (text: string) => ParsedSource): SourceNode | undefined {
    if (this.#isSpent(path)) return undefined;
    const { root, problems, tokenCount } = parse(text);
    this.#tokenCount += tokenCount;
    for (const problem of problems) {
      if (problem.isError) this.log.error(path, problem.line, problem.message);
      else this.log.warn(path, problem.line, problem.message);
    }
    return problems.some((problem) => problem.isError) ? undefined : root;
  }
}
