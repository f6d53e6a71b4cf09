/** The workspace that is being looked at. */

import { create } from "zustand";

import { readKept, writeKept } from "./kept.ts";

/** The chosen workspace's id; undefined until one was chosen or found. */
export const useWorkspaceChoice = create<{
  readonly id: string | undefined;
  readonly choose: (id: string) => void;
}>()((set) => ({
  id: readKept("workspace"),
  choose: (id) => {
    writeKept("workspace", id);
    set({ id });
  },
}));

/** The workspace of the page; only below the shell, which renders nothing before there is one. */
export function useWorkspace(): string {
  const id = useWorkspaceChoice((state) => state.id);
  if (id === undefined) throw new Error("there is no workspace above the shell");
  return id;
}
