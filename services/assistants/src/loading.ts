/** What the loaders of one app share. */

import type { AppFiles } from "./app.ts";
import { IdClaims } from "./id-claims.ts";
import { PathIndex } from "./path-index.ts";
import { ProblemLog } from "./problem-log.ts";
import { PromptReader } from "./prompt-file.ts";
import type { SourceObject } from "./source-node.ts";
import { SourceReader } from "./source-reader.ts";

/** One load of an app. */
export interface Loading {
  readonly log: ProblemLog;
  readonly paths: PathIndex;
  readonly source: SourceReader;
  readonly prompts: PromptReader;
  readonly ids: Readonly<Record<"assistants" | "connectors" | "mcpServers" | "models" | "scripts", IdClaims>>;
  /** The trees of files that name things in other files, for the check at the end; by path. */
  readonly roots: Map<string, SourceObject>;
}

/** A folder that servers, models and scripts are loaded from: the app's own, or an assistant's. */
export interface Home {
  /** Empty for the app, else the assistant's folder and a slash. */
  readonly base: string;
  /** What ids begin with: empty, or `agents.<assistant>.` */
  readonly prefix: string;
  readonly assistantId?: string;
}

/** The app's own folder. */
export const APP_HOME: Home = { base: "", prefix: "" };

/** The folder of an assistant. */
export function homeOf(assistantId: string, folder: string): Home {
  return { base: `${folder}/`, prefix: `agents.${assistantId}.`, assistantId };
}

/** Begins a load. */
export function startLoading(files: AppFiles): Loading {
  const log = new ProblemLog();
  const source = new SourceReader(files, log);
  return {
    log,
    paths: new PathIndex(files),
    source,
    prompts: new PromptReader(source),
    ids: {
      assistants: new IdClaims(log),
      connectors: new IdClaims(log),
      mcpServers: new IdClaims(log),
      models: new IdClaims(log),
      scripts: new IdClaims(log, "warning"),
    },
    roots: new Map(),
  };
}
