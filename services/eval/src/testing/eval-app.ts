/** Evals of apps that are written as a record of files, in a folder of their own. For tests. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { systemClock } from "@mesh/kernel";

import type { EvalRequest } from "../local/eval-request.ts";
import { runEval } from "../local/run-eval.ts";
import { readRow, type ResultRow } from "../report/log-row.ts";
import { ConsoleReport } from "../report/console-report.ts";
import { EventReport } from "../report/event-report.ts";

/** How an eval went. */
export interface EvalRun {
  readonly exitCode: number;
  /** What was printed. */
  readonly text: string;
  /** Rows of the log, if there is one. */
  readonly results: readonly ResultRow[];
}

/** See the file comment. */
export class EvalApp implements Disposable {
  readonly dir: string = mkdtempSync(join(tmpdir(), "yao-eval-app-"));
  #runs = 0;

  /** An assistant `echo` on the demo model is always there. */
  constructor(files: Readonly<Record<string, string>> = {}) {
    this.write({
      "app.yao": '{"name":"Test"}',
      "assistants/echo/package.yao": '{"name":"Echo","description":"says it again","connector":"demo"}',
      "assistants/echo/prompts.yml": "- role: system\n  content: Repeat.\n",
      ...files,
    });
  }

  write(files: Readonly<Record<string, string>>): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.dir, path)), { recursive: true });
      writeFileSync(join(this.dir, path), text);
    }
  }

  read(path: string): string {
    return readFileSync(join(this.dir, path), "utf8");
  }

  /** Runs cases, given as lines of a file. */
  async run(
    cases: readonly object[] | string,
    options: Partial<EvalRequest> & {
      readonly signal?: AbortSignal;
      readonly onText?: (text: string) => void;
      readonly json?: boolean;
    } = {},
  ): Promise<EvalRun> {
    this.#runs += 1;
    const file = `cases-${this.#runs}.jsonl`;
    const { signal = new AbortController().signal, onText, json = false, ...request } = options;
    this.write({ [file]: typeof cases === "string" ? cases : cases.map((each) => JSON.stringify(each)).join("\n") });
    const output = request.output ?? `out-${this.#runs}.jsonl`;
    const scratchDir = mkdtempSync(join(tmpdir(), "yao-eval-scratch-"));
    let text = "";
    const write = (part: string): void => {
      text += part;
      onText?.(part);
    };
    try {
      const { exitCode } = await runEval(
        {
          input: { kind: "file", path: file },
          inputText: file,
          agent: "echo",
          cwd: this.dir,
          timeoutMs: 20_000,
          runs: 1,
          parallel: 1,
          retries: 0,
          failFast: false,
          isDryRun: false,
          ...request,
          output,
        },
        {
          clock: systemClock,
          nonce: `n${this.#runs}`,
          version: "0",
          env: {},
          variables: {},
          scratchDir,
          reporter: json ? new EventReport(write, { isVerbose: true }) : new ConsoleReport(write, { isVerbose: true }),
        },
        signal,
      );
      const log = request.resume ?? output;
      return { exitCode, text, results: log.endsWith(".jsonl") && !request.isDryRun ? this.rows(log) : [] };
    } finally {
      rmSync(scratchDir, { recursive: true, force: true });
    }
  }

  /** Results in a log. */
  rows(path: string): readonly ResultRow[] {
    return this.read(path)
      .split("\n")
      .flatMap((line) => {
        const row = line === "" ? undefined : readRow(line);
        return row?.type === "result" ? [row] : [];
      });
  }

  [Symbol.dispose](): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}
