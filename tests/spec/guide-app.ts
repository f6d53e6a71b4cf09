/** The files and the commands of a guide: what a reader would write and type, as an app and as runs of it. */

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

import type { AppRun, AppRunOptions } from "../../services/runtime/src/testing/app-run.ts";

const GUIDES = resolve(import.meta.dirname, "../../docs/guides");
const FILE_LANGUAGES = new Set(["jsonc", "yaml", "typescript"]);

/** One command of a guide and what it prints. */
export interface GuideCommand {
  /** As it is typed. */
  readonly command: string;
  readonly assistant: string;
  readonly input: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly prints: string;
}

interface GuideBlock {
  readonly language: string;
  readonly code: string;
}

function blocksOf(guide: string): readonly GuideBlock[] {
  const text = readFileSync(join(GUIDES, guide), "utf8");
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = "", code = ""]) => ({ language, code }));
}

/** The files of a guide by the path in their first line. */
export function guideFiles(guide: string): Readonly<Record<string, string>> {
  const files = blocksOf(guide).filter(({ language }) => FILE_LANGUAGES.has(language));
  return Object.fromEntries(
    files.map(({ code }) => {
      const path = /^(?:\/\/|#) (\S+)\n/.exec(code)?.[1];
      if (path === undefined) throw new Error(`${guide}: a file has no path in its first line:\n${code.slice(0, 80)}`);
      return [path, code];
    }),
  );
}

/** The runs that a guide shows, in order. */
export function guideCommands(guide: string): readonly GuideCommand[] {
  return blocksOf(guide)
    .filter(({ language }) => language === "console")
    .flatMap(({ code }) => code.split(/^\$ /m).filter((part) => part !== ""))
    .map((part) => {
      const [command = "", ...lines] = part.trimEnd().split("\n");
      const [, assistant = "", quoted, word = "", rest = ""] =
        /^yao run (\S+) (?:"([^"]*)"|(\S+))((?: --meta \S+=\S+)*)$/.exec(command) ?? [];
      if (assistant === "") throw new Error(`${guide}: this command cannot be tried: ${command}`);
      const metadata = [...rest.matchAll(/ --meta (\S+?)=(\S+)/g)].map(([, key = "", value = ""]) => [key, value]);
      return {
        command,
        assistant,
        input: quoted ?? word,
        metadata: Object.fromEntries(metadata) as Record<string, string>,
        prints: lines.join("\n"),
      };
    });
}

/** How a command's run is asked for, as a device reads it from the metadata. */
export function runOptions({ metadata }: GuideCommand): AppRunOptions {
  const { locale, chat_id: chatId } = metadata;
  return {
    usesDemo: true,
    userId: "reader",
    input: { metadata },
    ...(locale === undefined ? {} : { locale }),
    ...(chatId === undefined ? {} : { chatId }),
  };
}

/** What `yao run` prints of a run: the texts of its messages, else its output, and why it failed. */
export function printed({ messages, outcome, error }: AppRun): string {
  const texts = new Map<string, string>();
  for (const { type, props, message_id: id = "", delta } of messages) {
    const { content } = props;
    if (type !== "text" || typeof content !== "string") continue;
    texts.set(id, delta === true ? (texts.get(id) ?? "") + content : content);
  }
  const said = texts.size === 0 && outcome !== undefined ? [outcome.output] : [...texts.values()];
  const failure = error === undefined ? [] : [`yao: run_… failed: ${error.message} — see \`yao runs show run_…\``];
  return [...said, ...failure].join("\n");
}
