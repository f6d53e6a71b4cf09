/** Ids of cases that have no result yet, loaded where they are looked at. */

import { useCallback, useEffect, useRef, useState } from "react";

import { listEvalCases } from "../../api/evals.ts";

const PAGE = 50;

/** Ids by position. */
export interface CaseNames {
  readonly nameOf: (ordinal: number) => string | undefined;
  /** Loads the page that holds the case, once. */
  readonly want: (ordinal: number) => void;
}

/** The ids of one eval. */
export function useCaseNames(id: string): CaseNames {
  const names = useRef(new Map<number, string>());
  const asked = useRef(new Set<number>());
  const [version, setVersion] = useState(0);
  useEffect(() => {
    names.current.clear();
    asked.current.clear();
  }, [id]);
  const want = useCallback(
    (ordinal: number) => {
      const at = ordinal - (ordinal % PAGE);
      if (asked.current.has(at)) return;
      asked.current.add(at);
      listEvalCases({ eval: id, at, page_size: PAGE }).then(
        ({ cases }) => {
          for (const [index, each] of cases.entries()) names.current.set(at + index, String(each["id"]));
          setVersion((before) => before + 1);
        },
        // Without its name a case is still there under its number.
        () => asked.current.delete(at),
      );
    },
    [id],
  );
  // Made anew when names came, so that what depends on it is.
  const nameOf = useCallback((ordinal: number) => names.current.get(ordinal), [version]);
  return { nameOf, want };
}
