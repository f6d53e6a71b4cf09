/** The language of the page: chosen by the person, else the browser's. */

import { create } from "zustand";

import { readKept, writeKept } from "../app/kept.ts";

/** Languages of the page; `en-XA` is English made strange, for tests. */
export const LOCALES = ["en", "zh-CN"] as const;

/** One of the languages. */
export type Locale = (typeof LOCALES)[number] | "en-XA";

/** What languages call themselves. */
export const LOCALE_NAMES: Readonly<Record<(typeof LOCALES)[number], string>> = { en: "English", "zh-CN": "简体中文" };

interface LocaleState {
  readonly locale: Locale;
  readonly setLocale: (locale: Locale) => void;
}

/** The language that names like `zh`, `zh-Hans-CN` or `en-GB` mean; undefined when it is none of ours. */
export function localeOf(name: string): Locale | undefined {
  if (name === "en-XA") return name;
  const language = name.toLowerCase().split(/[-_]/)[0];
  if (language === "en") return "en";
  return language === "zh" ? "zh-CN" : undefined;
}

function initial(): Locale {
  const names = [readKept("locale") ?? "", ...navigator.languages];
  return names.map(localeOf).find((locale) => locale !== undefined) ?? "en";
}

/** The chosen language, and how to choose another. */
export const useLocale = create<LocaleState>()((set) => ({
  locale: initial(),
  setLocale: (locale) => {
    writeKept("locale", locale);
    document.documentElement.lang = locale;
    set({ locale });
  },
}));

document.documentElement.lang = useLocale.getState().locale;
