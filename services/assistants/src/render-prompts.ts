/**
 * The system prompts of a run: the app's, then the preset's or the assistant's own, with their variables replaced.
 *
 * R1  One pass: a value that was inserted is never searched for variables.
 * R2  `$SYS` names that do not exist stay as text; `$ENV` and `$CTX` names without a value become empty.
 * R3  What the assistant is (`$CTX.ASSISTANT_*`) comes from the app; a caller's metadata cannot replace it.
 */

import { MeshError } from "@mesh/kernel";

import type { App } from "./app.ts";
import type { Assistant, Prompt } from "./assistant.ts";
import type { EnvLookup } from "./env-ref.ts";
import { DEFAULT_LOCALE, localizeAssistant, type Translate, translator } from "./localize.ts";

/** Everything the text of prompts depends on. */
export interface RenderRequest {
  readonly app: App;
  readonly assistant: Assistant;
  /** Dotted name under the assistant's `prompts/`; absent means prompts.yml. */
  readonly preset?: string;
  /** Overrides what package.yao says. */
  readonly disableGlobal?: boolean;
  readonly sys: { readonly now: Date; /** IANA name, such as Europe/Berlin. */ readonly timezone: string };
  readonly env: EnvLookup;
  /** Values of `$CTX.NAME`: upper-case names of the system and the run's metadata as it came. */
  readonly ctx: Readonly<Record<string, string>>;
  readonly locale?: string;
}

// Alternatives in one expression: that is what makes it one pass.
const VARIABLE = /\$(SYS|ENV)\.([A-Za-z_][A-Za-z0-9_]*)|\$CTX\.([A-Za-z_]\w*(?:[.-]\w+)*)|\{\{\s*([^{}\n]+?)\s*\}\}/g;

/** Renders the prompts; throws `not_found` for a preset that does not exist and `invalid_argument` for a bad time zone. */
export function renderPrompts(request: RenderRequest): Prompt[] {
  const { app, assistant } = request;
  const isGlobalOff = request.disableGlobal ?? assistant.disableGlobalPrompts;
  const own = request.preset === undefined ? assistant.prompts : presetOf(assistant, request.preset);
  const prompts = [...(isGlobalOff ? [] : app.globalPrompts), ...own];
  const values = valuesOf(request);
  return prompts.map((prompt) => ({ ...prompt, content: replaceVariables(prompt.content, values) }));
}

interface Values {
  /** Made for the first prompt that asks what time it is: most do not. */
  readonly sys: () => ReadonlyMap<string, string>;
  readonly env: EnvLookup;
  readonly ctx: ReadonlyMap<string, string>;
  readonly translate: Translate;
}

function valuesOf({ app, assistant, sys, env, ctx, locale }: RenderRequest): Values {
  const chosenLocale = locale ?? DEFAULT_LOCALE;
  const { name, description } = localizeAssistant(assistant, chosenLocale, app);
  // A bad time zone is told whether a prompt asks for the time or not.
  const format = formatOf(sys.timezone);
  let systemMap: ReadonlyMap<string, string> | undefined;
  return {
    sys: () => (systemMap ??= systemValues(sys.now, sys.timezone, format)),
    env,
    ctx: new Map([
      ["LOCALE", chosenLocale],
      ["locale", chosenLocale],
      ...Object.entries(ctx),
      ["ASSISTANT_ID", assistant.id],
      ["ASSISTANT_NAME", name],
      ["ASSISTANT_DESCRIPTION", description],
      ["ASSISTANT_TYPE", assistant.type],
    ]),
    translate: translator(assistant, chosenLocale, app),
  };
}

function presetOf(assistant: Assistant, preset: string): readonly Prompt[] {
  const found = Object.hasOwn(assistant.promptPresets, preset) ? assistant.promptPresets[preset] : undefined;
  if (found !== undefined) return found;
  const known = Object.keys(assistant.promptPresets);
  const hint = known.length === 0 ? "it has none" : `it has ${known.join(", ")}`;
  throw new MeshError("not_found", `assistant ${assistant.id} has no prompt preset "${preset}"; ${hint}`);
}

function replaceVariables(content: string, values: Values): string {
  return content.replace(VARIABLE, (whole: string, ...captured: (string | undefined)[]) => {
    const [space, name, ctxName, key] = captured;
    if (key !== undefined) return values.translate(key) ?? whole;
    if (ctxName !== undefined) return contextValue(ctxName, values.ctx);
    if (name === undefined) return whole;
    return space === "SYS" ? (values.sys().get(name) ?? whole) : (values.env(name) ?? "");
  });
}

/** Metadata keys may hold dots and dashes, and so may the sentence after a variable: the longest known key wins. */
function contextValue(name: string, ctx: ReadonlyMap<string, string>): string {
  for (let end = name.length; end > 0; end = Math.max(name.lastIndexOf(".", end - 1), name.lastIndexOf("-", end - 1))) {
    const value = ctx.get(name.slice(0, end));
    if (value !== undefined) return value + name.slice(end);
  }
  return name.replace(/^\w+/, "");
}

function systemValues(now: Date, timeZone: string, format: Intl.DateTimeFormat): ReadonlyMap<string, string> {
  const parts = new Map(format.formatToParts(now).map((part) => [part.type, part.value]));
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? "";
  const date = `${part("year")}-${part("month")}-${part("day")}`;
  const time = `${part("hour")}:${part("minute")}:${part("second")}`;
  return new Map([
    ["TIME", time],
    ["DATE", date],
    ["DATETIME", `${date} ${time}`],
    ["TIMEZONE", timeZone],
    ["WEEKDAY", part("weekday")],
    ["YEAR", part("year")],
    ["MONTH", part("month")],
    ["DAY", part("day")],
    ["HOUR", part("hour")],
    ["MINUTE", part("minute")],
    ["SECOND", part("second")],
    ["UNIX", String(Math.floor(now.getTime() / 1000))],
  ]);
}

const MAX_FORMATS = 100;
// Making one costs more than all the rest of a prompt, and it depends on nothing but the name.
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  if (formats.size >= MAX_FORMATS) formats.clear();
  const format = newFormat(timeZone);
  formats.set(timeZone, format);
  return format;
}

function newFormat(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      weekday: "long",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown;
    const message = `the time zone "${timeZone}" is not known; use a name such as Europe/Berlin or UTC`;
    throw new MeshError("invalid_argument", message, { cause: thrown });
  }
}
