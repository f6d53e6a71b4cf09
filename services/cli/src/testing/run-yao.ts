/** One command line in this process, against a coordinator at the wire. */

import { PassThrough, Readable, Writable } from "node:stream";

import { systemClock, systemIds } from "@mesh/kernel";

import { readCliOptions } from "../config.ts";
import { runProgram } from "../program.ts";
import type { InterruptListener } from "../terminal/interrupt.ts";
import { openTerminal } from "../terminal/terminal.ts";

/** Where it runs. */
export interface Surroundings {
  readonly url: string;
  readonly home: string;
  /** Standard input of a command in a pipe; nothing when absent. */
  readonly stdin?: string;
  /** A person at a terminal. */
  readonly person?: Person;
}

/** How it ended. */
export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A person who types and presses Ctrl-C, and what that person sees: stdout and stderr as they come. */
export class Person {
  readonly stdin: PassThrough & { readonly isTTY: boolean } = Object.assign(new PassThrough(), { isTTY: true });
  readonly #listeners = new Set<InterruptListener>();
  seen = "";

  type(line: string): void {
    this.stdin.write(`${line}\n`);
  }

  /** Ctrl-D. */
  end(): void {
    this.stdin.end();
  }

  /** Ctrl-C; a command that does not listen would end. */
  interrupt(): void {
    for (const listener of this.#listeners) listener("SIGINT", 1);
  }

  listen(listener: InterruptListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

/** Runs `yao ARGS`. */
export async function runYao({ url, home, stdin, person }: Surroundings, args: readonly string[]): Promise<Ended> {
  const texts = { out: "", err: "" };
  const sink = (name: "out" | "err"): Writable & { readonly isTTY: boolean } =>
    Object.assign(
      new Writable({
        write: (chunk: Buffer, _encoding, done) => {
          texts[name] += chunk.toString();
          if (person !== undefined) person.seen += chunk.toString();
          done();
        },
      }),
      { isTTY: person !== undefined },
    );
  const input = person?.stdin ?? Object.assign(Readable.from([stdin ?? ""]), { isTTY: false });
  const code = await runProgram(
    {
      terminal: openTerminal({ stdin: input as never, stdout: sink("out"), stderr: sink("err") }, { NO_COLOR: "1" }),
      interrupts: { listen: (listener) => person?.listen(listener) ?? (() => undefined) },
      clock: systemClock,
      ids: systemIds(),
      options: readCliOptions({ YAO_HOME: home, YAO_TOKEN: `yao_${"A".repeat(43)}`, YAO_URL: url }),
      env: {},
      self: { execPath: "", execArgv: [], script: "", tellParent: undefined },
    },
    args,
  );
  return { code, ...texts };
}
