/** Which cards are selected, for changing many at once. */

import { create } from "zustand";

/** At most this many change in one call. */
export const MAX_SELECTED = 200;

interface Selection {
  readonly ids: ReadonlySet<string>;
  readonly toggle: (id: string) => void;
  readonly clear: () => void;
}

/** The selection of this tab. */
export const useSelection = create<Selection>()((set) => ({
  ids: new Set(),
  toggle: (id) =>
    set(({ ids }) => {
      const next = new Set(ids);
      if (!next.delete(id) && next.size < MAX_SELECTED) next.add(id);
      return { ids: next };
    }),
  clear: () => set({ ids: new Set() }),
}));
