/** Suggestions for mistyped names. Pure. */

const MAX_LENGTH = 64;

/** The candidates closest to `name`, best first; none when nothing is close enough to be meant. */
export function nearNames(name: string, candidates: Iterable<string>, max: number = 3): string[] {
  const wanted = name.toLowerCase().slice(0, MAX_LENGTH);
  const allowed = Math.max(1, Math.floor(wanted.length / 3));
  return [...candidates]
    .map((candidate) => ({ candidate, distance: distanceTo(wanted, candidate.toLowerCase().slice(0, MAX_LENGTH)) }))
    .filter(({ distance }) => distance <= allowed)
    .toSorted((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, max)
    .map(({ candidate }) => candidate);
}

/** Edit distance; a name that is the other's beginning or end counts as one edit, since people shorten names. */
function distanceTo(a: string, b: string): number {
  if (a !== "" && b !== "" && (b.startsWith(a) || b.endsWith(a) || a.endsWith(b))) return a === b ? 0 : 1;
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const swap = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(swap, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}
