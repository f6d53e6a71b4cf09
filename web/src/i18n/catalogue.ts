/**
 * Texts of the page. Each folder has a `text.ts` with its own, in all languages: a chunk brings what it says, and the
 * compiler refuses a key that one language lacks.
 */

import { format, pseudo, type Values } from "./message.ts";
import { type Locale, useLocale } from "./locale.ts";

/** Texts by language. */
export interface Texts<Key extends string> {
  readonly en: Readonly<Record<Key, string>>;
  readonly "zh-CN": Readonly<Record<Key, string>>;
}

/** Says a text in the current language. */
export type Say<Key extends string> = (key: Key, values?: Values) => string;

/** A catalogue: as a hook for components, and for code outside of them. */
export interface Catalogue<Key extends string> {
  (): Say<Key>;
  readonly say: Say<Key>;
  readonly texts: Texts<Key>;
}

/** All catalogues that were loaded, for the tests that compare languages. */
export const CATALOGUES: Texts<string>[] = [];

/** Makes a catalogue; `const useText = catalogue({ en: {...}, "zh-CN": {...} })`. */
export function catalogue<Key extends string>(texts: {
  readonly en: Readonly<Record<Key, string>>;
  readonly "zh-CN": NoInfer<Readonly<Record<Key, string>>>;
}): Catalogue<Key> {
  const sayers = new Map<Locale, Say<Key>>();
  const sayerOf = (locale: Locale): Say<Key> => {
    const known = sayers.get(locale);
    if (known !== undefined) return known;
    const say: Say<Key> = (key, values = {}) =>
      locale === "en-XA" ? format(pseudo(texts.en[key]), values, "en") : format(texts[locale][key], values, locale);
    sayers.set(locale, say);
    return say;
  };
  CATALOGUES.push(texts);
  return Object.assign(() => sayerOf(useLocale((state) => state.locale)), {
    say: ((key, values) => sayerOf(useLocale.getState().locale)(key, values)) satisfies Say<Key>,
    texts,
  });
}
