import type { Id, IdKind, Ids } from "../ids.ts";

/** Ids that count up from 1, the same in every test run. */
export function sequentialIds(): Ids {
  let count = 0;
  return {
    next<Kind extends IdKind>(kind: Kind): Id<Kind> {
      count += 1;
      return `${kind}_${String(count).padStart(26, "0")}` as Id<Kind>;
    },
  };
}
