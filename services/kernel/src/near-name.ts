/** Guesses which name somebody meant to write. Pure. */

const MAX_LENGTH = 64;

/**
 * The candidates close enough to `name` to be meant, best first; of equally close ones the earlier first. Close is what
 * slips of the hand explain: one in a name of up to 3 letters, two in a longer one.
 */
export function nearNames(name: string, candidates: Iterable<string>, max: number = 3): string[] {
  const wanted = name.toLowerCase();
  const limit = wanted.length <= 1 ? 0 : wanted.length <= 3 ? 1 : 2;
  if (wanted.length > MAX_LENGTH) return [];
  const near: { readonly candidate: string; readonly distance: number }[] = [];
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - wanted.length) > limit) continue;
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance <= limit) near.push({ candidate, distance });
  }
  return near
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, max)
    .map(({ candidate }) => candidate);
}

/** The candidate closest to `name`, when one is close enough; see {@link nearNames}. */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  return nearNames(name, candidates, 1)[0];
}

/** How many letters to add, leave out or replace; two neighbours in the wrong order count as one slip. */
function editDistance(a: string, b: string): number {
  let before: readonly number[] = [];
  let row: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, (before[j - 2] ?? 0) + 1);
      }
      next.push(least);
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
