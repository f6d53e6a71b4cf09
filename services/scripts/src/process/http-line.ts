/** Text that arrives in parts, as lines. Pure. */

import { MeshError } from "@mesh/kernel";

/** Lines of UTF-8 text, without their ends; a line or a character may be spread over any parts. */
export async function* linesOf(parts: AsyncIterable<Uint8Array>, maxLength: number): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const part of parts) {
    // Only the new part is searched, so that a line of many small parts costs no more than its length.
    const [first = "", ...lines] = decoder.decode(part, { stream: true }).split("\n");
    rest += first;
    for (const line of lines) {
      yield withoutReturn(rest);
      rest = line;
    }
    if (rest.length > maxLength) {
      throw new MeshError("resource_exhausted", `a line of the answer is longer than ${maxLength} characters`);
    }
  }
  rest += decoder.decode();
  if (rest !== "") yield withoutReturn(rest);
}

function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}
