/** Loads something once, for pages that do without the data layer. */

import { useCallback, useEffect, useState } from "react";

/** What was loaded, or why not. */
export interface Load<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly reload: () => void;
}

/** Loads when first shown, and again when `key` changes or on `reload`; what comes too late is dropped. */
export function useLoad<T>(work: () => Promise<T>, key: string): Load<T> {
  const [state, setState] = useState<{ readonly data?: T; readonly error?: unknown }>({});
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isWanted = true;
    work().then(
      (data) => isWanted && setState({ data }),
      (error: unknown) => isWanted && setState({ error }),
    );
    return () => {
      isWanted = false;
    };
    // The work is made anew by every rendering; the key says when it is another one.
  }, [key, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  return { data: state.data, error: state.error, reload };
}
