/**
 * Translation of `{{ key }}`.
 *
 * A key is looked up in the assistant's texts of the requested locale (exact, its language, another region of that
 * language), then in the app's; then in en-us the same way.
 */

import { isObject } from "@mesh/kernel";

import type { App, Assistant } from "./app.ts";
import { type LocaleTexts, localeName } from "./locale-file.ts";
import { compareText } from "./problem-log.ts";

/** The locale of last resort. */
export const DEFAULT_LOCALE = "en-us";

/** What a person sees of an assistant, in one language. */
export interface LocalizedAssistant {
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly placeholder: { readonly title: string; readonly description: string; readonly prompts: readonly string[] };
}

/** Finds the text of a key; undefined when no locale of the chain has it. */
export type Translate = (key: string) => string | undefined;

// A translation may hold further keys; a cycle ends here.
const MAX_TRANSLATION_DEPTH = 4;
const MAX_TEXT_LENGTH = 64 * 1024;
const KEY = /\{\{\s*([^{}]+?)\s*\}\}/g;

type Locales = Assistant["locales"];

/** The translator for an assistant of an app and a requested locale. */
export function translator(assistant: Assistant, locale: string, app?: Pick<App, "globalLocales">): Translate {
  const sources: readonly Locales[] = [assistant.locales, app?.globalLocales ?? {}];
  const chain = [...localeChain(locale, sources), ...localeChain(DEFAULT_LOCALE, sources)];
  return (key) => {
    for (const texts of chain) if (Object.hasOwn(texts, key)) return texts[key];
    return undefined;
  };
}

/** The assistant's name, description, tags and placeholder in one language; a key without a text becomes the key itself. */
export function localizeAssistant(
  assistant: Assistant,
  locale: string,
  app?: Pick<App, "globalLocales">,
): LocalizedAssistant {
  const translate = translator(assistant, locale, app);
  const say = (text: unknown): string => (typeof text === "string" ? localizeText(text, translate) : "");
  const placeholder = assistant.source["placeholder"];
  const fields = isObject(placeholder) ? placeholder : {};
  const prompts = fields["prompts"];
  return {
    name: say(assistant.name),
    description: say(assistant.description),
    tags: assistant.tags.map((tag) => translate(tag) ?? say(tag)),
    placeholder: {
      title: say(fields["title"]),
      description: say(fields["description"]),
      prompts: Array.isArray(prompts) ? prompts.map(say) : [],
    },
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

function localeChain(locale: string, sources: readonly Locales[]): LocaleTexts[] {
  const name = localeName(locale);
  const language = name.split("-", 1)[0] ?? name;
  const siblings = sources.flatMap((locales) => Object.keys(locales).filter((key) => key.startsWith(`${language}-`)));
  const names = [...new Set([name, language, ...siblings.toSorted(compareText)])];
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
