/** Finds the test file that an input means. Pure. */

import type { App } from "@mesh/assistants";
import { MeshError } from "@mesh/kernel";

/** The test file behind `<assistant>.<module>`: the longest name of an assistant wins. */
export function testModule(
  module: string,
  agentId: string | undefined,
  app: Pick<App, "scripts" | "assistants">,
): { readonly path: string; readonly agentId: string } {
  const bare = module.replace(/^scripts\./, "").replace(/^(?:agents|assistants)\.(?=.)/, "");
  const parts = bare.split(".");
  const splits = parts.map(
    (_part, at) => [parts.slice(0, parts.length - at).join("."), parts.slice(parts.length - at).join(".")] as const,
  );
  const owners = [...(agentId === undefined ? [] : [[agentId, bare] as const]), ...splits];
  for (const [owner, name] of owners) {
    if (!app.assistants.has(owner) || name === "") continue;
    const file = app.scripts.get(`agents.${owner}.${name}_test`) ?? app.scripts.get(`agents.${owner}.${name}`);
    if (file?.kind === "test") return { path: file.path, agentId: owner };
  }
  const tests = [...app.scripts.values()].filter(({ kind }) => kind === "test").map(({ path }) => path);
  const there = tests.length === 0 ? "the app has no *_test.ts" : `there are ${tests.slice(0, 10).join(", ")}`;
  throw new MeshError("not_found", `there are no tests behind "${module}"; ${there}`);
}
