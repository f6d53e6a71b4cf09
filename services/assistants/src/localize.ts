/**
 * Translation of `{{ key }}`.
 *
 * A key is looked up in the assistant's texts of the requested locale (exact, its language, another region of that
 * language), then in the app's; then in en-us the same way.
 */

import type { App } from "./app.ts";
import type { Assistant, Placeholder } from "./assistant.ts";
import { type LocaleTexts, localeName } from "./locale-file.ts";
import { compareText } from "./problem-log.ts";

/** The locale of last resort. */
export const DEFAULT_LOCALE = "en-us";

/** What a person sees of an assistant, in one language. */
export interface LocalizedAssistant {
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly placeholder: Placeholder;
}

/** Keys that begin so are looked up in the app's texts only. */
const GLOBAL_PREFIX = "__global__.";

/** Finds the text of a key; undefined when no locale of the chain has it. */
export type Translate = (key: string) => string | undefined;

// A translation may hold further keys; a cycle ends here.
const MAX_TRANSLATION_DEPTH = 4;
const MAX_TEXT_LENGTH = 64 * 1024;
const KEY = /\{\{\s*([^{}]+?)\s*\}\}/g;

type Locales = Assistant["locales"];

/** The translator for an assistant of an app and a requested locale. */
export function translator(assistant: Assistant, locale: string, app?: Pick<App, "globalLocales">): Translate {
  const shared = app?.globalLocales ?? {};
  // Made for the first key that is asked for: most texts have none.
  let all: readonly LocaleTexts[] | undefined;
  let globalOnly: readonly LocaleTexts[] | undefined;
  return (key) =>
    key.startsWith(GLOBAL_PREFIX)
      ? find(key.slice(GLOBAL_PREFIX.length), (globalOnly ??= chainOf(locale, [shared])))
      : find(key, (all ??= chainOf(locale, [assistant.locales, shared])));
}

/** The assistant's name, description, tags and placeholder in one language; a key without a text becomes the key itself. */
export function localizeAssistant(
  assistant: Assistant,
  locale: string,
  app?: Pick<App, "globalLocales">,
): LocalizedAssistant {
  const translate = translator(assistant, locale, app);
  const say = (text: string): string => localizeText(text, translate);
  const { title, description, prompts } = assistant.placeholder;
  return {
    name: say(assistant.name),
    description: say(assistant.description),
    tags: assistant.tags.map((tag) => translate(tag) ?? say(tag)),
    placeholder: { title: say(title), description: say(description), prompts: prompts.map(say) },
  };
}

/** Replaces every `{{ key }}`; a key without a text becomes the key itself. */
function localizeText(text: string, translate: Translate, depth = 0): string {
  if (!text.includes("{{")) return text;
  const localized = text.replace(KEY, (_whole, key: string) => {
    const found = translate(key);
    if (found === undefined) return key;
    return depth < MAX_TRANSLATION_DEPTH ? localizeText(found, translate, depth + 1) : found;
  });
  return localized.slice(0, MAX_TEXT_LENGTH);
}

function find(key: string, chain: readonly LocaleTexts[]): string | undefined {
  for (const texts of chain) if (Object.hasOwn(texts, key)) return texts[key];
  return undefined;
}

function chainOf(locale: string, sources: readonly Locales[]): readonly LocaleTexts[] {
  return [...localeChain(locale, sources), ...localeChain(DEFAULT_LOCALE, sources)];
}

function localeChain(locale: string, sources: readonly Locales[]): LocaleTexts[] {
  const name = localeName(locale);
  const language = name.split("-", 1)[0] ?? name;
  const present = sources.flatMap((locales) => Object.keys(locales)).toSorted(compareText);
  const siblings = present.filter((key) => key.startsWith(`${language}-`));
  // Old callers name the region alone: "cn".
  const regional = present.filter((key) => key.endsWith(`-${name}`));
  const names = [...new Set([name, language, ...siblings, ...regional])];
  // The assistant's words in any spelling of the language come before the app's.
  const found: LocaleTexts[] = [];
  for (const locales of sources) {
    for (const candidate of names) {
      const texts = Object.hasOwn(locales, candidate) ? locales[candidate] : undefined;
      if (texts !== undefined) found.push(texts);
    }
  }
  return found;
}
