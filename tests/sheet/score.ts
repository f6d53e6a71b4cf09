/** The score of every library, and the lines of the sheet. */

const NAME_WIDTH = 58;
const CELL_WIDTH = 20;

/** What became of one row with one library; undefined when the library cannot take it. */
export type Cell = readonly string[] | undefined;

/** Collects results, prints a line per row, and tells the totals. */
export class Score {
  readonly #tried = new Map<string, number>();
  readonly #failed = new Map<string, number>();
  readonly #reasons: string[] = [];

  /** Prints the head of a table. */
  head(title: string, names: readonly string[]): void {
    console.log(line(title, names));
  }

  /** Counts and prints one row. */
  row(name: string, title: string, cells: ReadonlyMap<string, Cell>): void {
    const shown: string[] = [];
    for (const [library, faults] of cells) {
      shown.push(faults === undefined ? "-" : faults.length === 0 ? "pass" : "FAIL");
      if (faults === undefined) continue;
      this.#tried.set(library, (this.#tried.get(library) ?? 0) + 1);
      if (faults.length === 0) continue;
      this.#failed.set(library, (this.#failed.get(library) ?? 0) + 1);
      this.#reasons.push(`${library}: ${name} (${title}): ${faults.join("; ")}`);
    }
    console.log(line(name, shown));
  }

  /** Prints why rows failed and the totals; tells whether a library passed everything it took. */
  finish(): (library: string) => boolean {
    console.log(`\n${this.#reasons.join("\n")}\n`);
    for (const [library, tried] of this.#tried) {
      console.log(`${library}: ${tried - (this.#failed.get(library) ?? 0)} of ${tried} pass`);
    }
    return (library) => (this.#tried.get(library) ?? 0) > 0 && !this.#failed.has(library);
  }
}

function line(name: string, cells: readonly string[]): string {
  return `${name.padEnd(NAME_WIDTH)}${cells.map((cell) => cell.padEnd(CELL_WIDTH)).join("")}`.trimEnd();
}
