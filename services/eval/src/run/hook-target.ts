/** Finds the function behind a hook's name: `env_test.Before`, `env.Before`, `src/env_test.Before`, `scripts:tests.env.BeforeAll`. Pure. */

import type { App } from "@mesh/assistants";

import type { FunctionRef } from "../host.ts";

/** The function, or why there is none. */
export type HookTarget = { readonly ref: FunctionRef } | { readonly problem: string };

/** Resolves a name for an assistant. Whether the file has the function is known only when it is bundled. */
export function hookTarget(name: string, agentId: string, app: Pick<App, "scripts">): HookTarget {
  const bare = name.trim().replace(/^src\//, "");
  const dot = bare.lastIndexOf(".");
  const fn = bare.slice(dot + 1);
  if (!/^[A-Za-z_$][\w$]*$/.test(fn)) return { problem: `"${name}" is no hook; a hook is file_test.Function` };
  const candidates = dot === -1 ? onlyTest(agentId, app) : idsOf(bare.slice(0, dot).replaceAll("/", "."), agentId);
  for (const id of candidates) {
    const file = app.scripts.get(id);
    if (file !== undefined) return { ref: { path: file.path, fn } };
  }
  const tests = [...app.scripts.values()].filter(({ assistantId, kind }) => assistantId === agentId && kind === "test");
  const there =
    tests.length === 0
      ? `${agentId} has no *_test.ts in its src`
      : `there are ${tests.map(({ path }) => path).join(", ")}`;
  return { problem: `the hook "${name}" is not there; ${there}` };
}

function idsOf(module: string, agentId: string): readonly string[] {
  if (module.startsWith("scripts:")) return withTest(`scripts.${module.slice("scripts:".length)}`);
  return [...withTest(`agents.${agentId}.${module}`), ...withTest(`scripts.${module}`)];
}

function withTest(id: string): readonly string[] {
  return id.endsWith("_test") ? [id] : [`${id}_test`, id];
}

function onlyTest(agentId: string, { scripts }: Pick<App, "scripts">): readonly string[] {
  const tests = [...scripts.values()].filter(({ assistantId, kind }) => assistantId === agentId && kind === "test");
  return tests.length === 1 ? tests.map(({ id }) => id) : [`agents.${agentId}.env_test`];
}
