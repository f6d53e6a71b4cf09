/** Passages as the search answers them: what was found stands between two private characters. Pure. */

/** A piece of a passage. */
export interface Piece {
  readonly text: string;
  readonly isFound: boolean;
}

const OPEN = "\u{E000}";
const CLOSE = "\u{E001}";

/** The pieces in order; marks without their partner are dropped. */
export function piecesOf(snippet: string): Piece[] {
  const pieces: Piece[] = [];
  let isFound = false;
  for (const part of snippet.split(/([\u{E000}\u{E001}])/u)) {
    if (part === OPEN || part === CLOSE) isFound = part === OPEN;
    else if (part !== "") pieces.push({ text: part, isFound });
  }
  return pieces;
}
