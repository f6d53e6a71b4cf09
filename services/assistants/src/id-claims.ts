/** Ids made of paths: what can be one, and that no two files have the same. */

import type { ProblemLog } from "./problem-log.ts";

const MAX_ID_LENGTH = 128;
const ID = /^[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*$/u;

/** The ids of one kind of file. */
export class IdClaims {
  readonly #report: (path: string, message: string) => void;
  readonly #pathOfId = new Map<string, string>();

  /** `warning` for files that are of use without an id. */
  constructor(log: ProblemLog, severity: "error" | "warning" = "error") {
    this.#report = (path, message) => (severity === "error" ? log.error(path, 0, message) : log.warn(path, 0, message));
  }

  /** The id that a path without its ending stands for; undefined after reporting that it cannot be one or is taken. */
  claim(path: string, dotless: string, prefix = ""): string | undefined {
    const own = dotless.replaceAll("/", ".");
    if (!ID.test(own) || own.length > MAX_ID_LENGTH) {
      const rule = `the names of its folders may hold letters, digits, - and _, at most ${MAX_ID_LENGTH} characters in all`;
      this.#report(path, `${JSON.stringify(own.slice(0, MAX_ID_LENGTH))} cannot be an id: ${rule}`);
      return undefined;
    }
    const id = prefix + own;
    const other = this.#pathOfId.get(id);
    if (other !== undefined) {
      this.#report(path, `its id ${id} is already that of ${other}; rename one of them`);
      return undefined;
    }
    this.#pathOfId.set(id, path);
    return id;
  }
}
