/** Every block of JavaScript and TypeScript of the documents runs, and does what it says it does. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { EXPECTED } from "./expectation.ts";
import { fixtureFiles, programFiles } from "./fixture-app.ts";
import { hookPrograms, kindOf, statementProgram, typeProgram } from "./script-block.ts";
import { SpecApp } from "./spec-app.ts";
import { type Block, blocksOf, hasSpec } from "./spec-document.ts";

const DOCUMENTS = ["context-api", "hooks", "i18n", "mcp", "models", "jsapi", "jsapi-old"];
const all = DOCUMENTS.flatMap(blocksOf).filter(({ language }) => /script$/.test(language));
const idOf = (block: Block, index = 0) => `${block.name.replace(":", "-")}-${index}`;

let app: SpecApp;
beforeAll(async () => {
  if (!hasSpec) return;
  const files = fixtureFiles(blocksOf("models"));
  for (const b of all) {
    const kind = kindOf(b.code);
    if (kind === "statements") Object.assign(files, programFiles(idOf(b), statementProgram(b.code, EXPECTED[b.name] ?? {}), { hasModel: false }));
    if (kind === "types") Object.assign(files, programFiles(idOf(b), typeProgram(b.code, {}), { hasModel: false }));
    if (kind === "hooks") hookPrograms(b.code).forEach((p, i) => Object.assign(files, programFiles(idOf(b, i), p, { hasModel: true })));
  }
  app = await SpecApp.open(files);
  console.log(app.app.problems);
});
afterAll(() => app?.[Symbol.asyncDispose]());

describe.skipIf(!hasSpec)("x", () => {
  test.each(all.filter((b) => kindOf(b.code) !== "signature" && kindOf(b.code) !== "module").flatMap((b) => (kindOf(b.code) === "hooks" ? hookPrograms(b.code).map((_, i) => [idOf(b, i), b] as const) : [[idOf(b), b] as const])))("%s", async (id) => {
    const run = await app.run(id, "Hello");
    if (run.error) console.log(id, run.error.message, JSON.stringify(run.error.details ?? {}).slice(0, 600), (run.error.cause as Error)?.stack?.slice(0,300));
    expect(run.error?.message).toBeUndefined();
    const stated = run.messages.flatMap(({ type, props }) => type === "log" && String(props["text"]).startsWith("stated ") ? [JSON.parse(String(props["text"]).slice(7))] : []);
    for (const [a, e] of stated) expect(a).toEqual(e);
  });
});
