/** The paths of an app, in an order that does not depend on how they came, with quick access to a folder. */

import type { AppFiles } from "./app.ts";
import { compareText } from "./problem-log.ts";

/** Sorted paths. */
export class PathIndex {
  readonly all: readonly string[];

  constructor(files: AppFiles) {
    this.all = [...files.keys()].toSorted(compareText);
  }

  /** The paths in a folder, at any depth; `folder` ends in no slash. */
  under(folder: string): readonly string[] {
    const prefix = `${folder}/`;
    // "0" is the character after "/".
    return this.all.slice(this.#firstFrom(prefix), this.#firstFrom(`${folder}0`));
  }

  #firstFrom(path: string): number {
    let low = 0;
    let high = this.all.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareText(this.all[middle] ?? "", path) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
