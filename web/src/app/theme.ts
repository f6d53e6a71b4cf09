/** Light, dark, or as the system says. */

import { create } from "zustand";

import { readKept, writeKept } from "./kept.ts";

/** What a person can choose. */
export const THEMES = ["system", "light", "dark"] as const;

/** One of them. */
export type Theme = (typeof THEMES)[number];

/** The theme that a text names; `system` when it names none. */
export function themeOf(name: string | undefined): Theme {
  return THEMES.find((theme) => theme === name) ?? "system";
}

function show(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

/** The chosen theme, and how to choose another. */
export const useTheme = create<{ readonly theme: Theme; readonly setTheme: (theme: Theme) => void }>()((set) => ({
  theme: themeOf(readKept("theme")),
  setTheme: (theme) => {
    writeKept("theme", theme);
    show(theme);
    set({ theme });
  },
}));

show(useTheme.getState().theme);
