/** The computer of an assistant: the file sandbox.yao, or the older object in package.yao turned into the same form. */

import type { Json, JsonObject } from "@mesh/kernel";

import { checkRoot } from "./shape/check-shape.ts";
import { SANDBOX_SHAPE } from "./shape/sandbox-shape.ts";
import { plainObject, withoutEmpty } from "./source-node.ts";
import type { SourceReader } from "./source-reader.ts";

/** As written in sandbox.yao; strings may still hold `$ENV.NAME`. */
export interface SandboxConfig {
  readonly computer?: {
    readonly mode?: string;
    readonly image?: string;
    readonly vnc?: boolean | JsonObject;
    readonly memory?: string;
    readonly cpus?: number;
    readonly ports?: readonly (number | JsonObject)[];
    readonly user?: string;
    readonly work_dir?: string;
    readonly mount_path?: string;
    readonly mount_mode?: "ro" | "rw";
  };
  readonly runner?: {
    readonly name?: string;
    readonly mode?: string;
    readonly options?: JsonObject;
    readonly connectors?: Readonly<
      Record<string, string | { readonly connector: string; readonly override?: "force" | "user" }>
    >;
    readonly supports?: readonly string[];
  };
  readonly lifecycle?: "oneshot" | "session" | "longrunning" | "persistent";
  readonly idle_timeout?: string;
  readonly max_lifetime?: string;
  readonly stop_timeout?: string;
  /** How long one piece of work may take; only the older form has it. */
  readonly timeout?: string;
  readonly prepare?: readonly SandboxStep[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: Readonly<Record<string, string | SandboxSecret>>;
  readonly filter?: JsonObject;
}

/** Something to do before the work starts. */
export interface SandboxStep {
  readonly action: "copy" | "exec" | "file" | "process";
  readonly once?: boolean;
  readonly ignore_error?: boolean;
  readonly background?: boolean;
  readonly src?: string;
  readonly dst?: string;
  readonly cmd?: string;
  readonly content?: string;
}

/** A secret with what people are told about it. */
export interface SandboxSecret {
  readonly value?: string;
  readonly label?: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly multiline?: boolean;
}

/** Reads sandbox.yao; undefined when there is none or it has errors. */
export function readSandbox(source: SourceReader, path: string): SandboxConfig | undefined {
  const root = source.json(path);
  if (root === undefined) return undefined;
  const { log } = source;
  if (root.kind !== "object") {
    log.error(path, root.line, "sandbox.yao must be an object");
    return undefined;
  }
  if (!checkRoot({ file: path, log }, root, SANDBOX_SHAPE)) return undefined;
  const { $schema: _, version: __, ...config } = withoutEmpty(plainObject(root));
  return config;
}

/** The older form in the words of the newer one; checked before. */
export function fromOldSandbox(old: JsonObject): SandboxConfig {
  const { command, image, timeout, max_memory: memory, max_cpu: cpus, arguments: options } = old;
  const given = (entries: Readonly<Record<string, Json | undefined>>): JsonObject =>
    Object.fromEntries(Object.entries(entries).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])));
  const computer = given({ image, memory, cpus });
  const runner = given({ name: command, options });
  return given({
    computer: Object.keys(computer).length === 0 ? undefined : computer,
    runner: Object.keys(runner).length === 0 ? undefined : runner,
    timeout,
  });
}
