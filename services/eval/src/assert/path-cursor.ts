/** Reads a path character by character. */

import { MeshError } from "@mesh/kernel";

/** See the file comment. */
export class PathCursor {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  peek(length = 1): string {
    return this.text.slice(this.at, this.at + length);
  }

  skipSpace(): void {
    while (/^[ \t\r\n]$/.test(this.peek())) this.at += 1;
  }

  /** Takes this text if it comes next. */
  take(text: string): boolean {
    if (!this.text.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  /** Takes what matches a sticky pattern. */
  match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const [found] = pattern.exec(this.text) ?? [];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  expect(text: string): void {
    if (!this.take(text)) throw this.refused(`"${text}" is missing`);
  }

  refused(message: string): MeshError {
    return new MeshError(
      "invalid_argument",
      `the path ${JSON.stringify(this.text)} is wrong at character ${this.at + 1}: ${message}`,
    );
  }

  /** A text in quotes. */
  quoted(): string {
    const quote = this.peek();
    const body = this.match(quote === "'" ? /'(?:[^'\\]|\\.)*'/suy : /"(?:[^"\\]|\\.)*"/suy);
    if (body === undefined) throw this.refused(`${quote} is never closed`);
    const inner = body.slice(1, -1);
    try {
      const json =
        quote === "'" ? inner.replaceAll(String.raw`\'`, "'").replaceAll(/(?<!\\)"/g, String.raw`\"`) : inner;
      return JSON.parse(`"${json}"`) as string;
    } catch {
      throw this.refused(`${body} is not a text`);
    }
  }
}
