/** Results as files of their own, for people to read: one per case and run, named safely on every system. Pure. */

import { markOf } from "./report/text-form.ts";
import { fenced, inline } from "./report/markdown-report.ts";
import type { CaseResult } from "./result.ts";

/** Form of the files. */
export type ExtractForm = "markdown" | "json";

// What some file system cannot have in a name.
// oxlint-disable-next-line no-control-regex -- control characters are what this replaces
const UNSAFE = /[\u0000-\u001F\u007F<>:"/\\|?*]/g;
const RESERVED = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;
const MAX_NAME_BYTES = 180;

/** Gives each result the name of its file; no two results get the same. */
export class FileNames {
  readonly #taken = new Set<string>();

  /** `extension` without a dot. */
  next({ id, run }: Pick<CaseResult, "id" | "run">, extension: string, hasRuns: boolean): string {
    const safe = id
      .normalize("NFC")
      .replaceAll(UNSAFE, "_")
      .replaceAll(/^[. ]+|[. ]+$/g, "_");
    const named = safe === "" || RESERVED.test(safe) ? `_${safe}` : safe;
    const base = `${shortened(named)}${hasRuns ? `-run${run}` : ""}`;
    for (let count = 1; ; count += 1) {
      const name = `${base}${count === 1 ? "" : `-${count}`}.${extension}`;
      // Some file systems see no difference between a and A.
      const key = name.toLowerCase();
      if (this.#taken.has(key)) continue;
      this.#taken.add(key);
      return name;
    }
  }
}

/** The content of a result's file. */
export function extracted(result: CaseResult, form: ExtractForm): string {
  if (form === "json") return `${JSON.stringify(result, null, 2)}\n`;
  const { id, run, status, duration_ms: ms, input, output, error } = result;
  return [
    `# ${inline(id)}${run > 1 ? ` (run ${run})` : ""}\n\n`,
    `**Status**: ${markOf(status)} ${status.toUpperCase()}\n\n`,
    `**Duration**: ${Math.round(ms)}ms\n\n`,
    error === undefined ? "" : `**Error**: ${inline(error)}\n\n`,
    `## Input\n\n${fenced(input)}\n`,
    `## Output\n\n${output === null ? "(none)\n" : typeof output === "string" ? `${output}\n` : fenced(output)}`,
  ].join("");
}

function shortened(name: string): string {
  let text = name;
  while (Buffer.byteLength(text) > MAX_NAME_BYTES) text = Array.from(text).slice(0, -1).join("");
  return text;
}
