import { expect, test } from "vitest";

import type { ScriptProgram } from "../call.ts";
import { ScriptBundler } from "./script-bundler.ts";

function appOf(files: Readonly<Record<string, string>>): { read: (path: string) => string | undefined } {
  return { read: (path) => files[path] };
}

async function bundle(files: Readonly<Record<string, string>>): Promise<ScriptProgram> {
  return await new ScriptBundler().bundle(appOf(files), "src/index.ts");
}

async function refusal(source: string, others: Readonly<Record<string, string>> = {}): Promise<string> {
  return await bundle({ "src/index.ts": source, ...others }).then(
    () => "accepted",
    (error: Error) => error.message,
  );
}

test("functions are found whether they are exported or not, and nothing inside a text or a comment is", async () => {
  const { functions } = await bundle({
    "src/index.ts": `
      // function InComment() {}
      const text = \`
function InText() {}
export { Nothing };
\`;
      /*
function InBlock() {}
      */
      function Create(ctx: unknown): unknown { function inner() {} return [ctx, text, inner]; }
      async function Next() {}
      export function Exported() {}
      export const Arrow = (a = { b: 1 }) => a, VALUE = 3, second = function () {};
      const hidden = async (x: number) => x;
      function* Generator() {}
      class Klass {}
      export { Klass, Create as Alias, VALUE as Constant };
    `,
  });
  expect([...functions].toSorted()).toEqual(
    ["Alias", "Arrow", "Create", "Exported", "Generator", "Next", "hidden", "second"].toSorted(),
  );
});

test("functions passed on from other files are found as well", async () => {
  const { functions } = await bundle({
    "src/index.ts":
      'export * from "./create"; export { next as Next } from "./next"; import { other } from "./next"; export { other };',
    "src/create.ts": "export function Create() {}",
    "src/next.ts": "export function next() {} export function other() {}",
  });
  expect([...functions].toSorted()).toEqual(["Create", "Next", "other"]);
});

test("siblings, @scripts, JSON and the runtime can be imported", async () => {
  const { code } = await bundle({
    "src/index.ts": `
      import type { agent } from "@yao/runtime";
      import { Process } from "@yao/runtime";
      import { a } from "./lib/a.js";
      import b from "./b.json";
      import { c } from "@scripts/tools/c";
      import { up } from "../up";
      export function Create(ctx: agent.Context) { return [ctx, a, b, c, up, Process("x")]; }`,
    "src/lib/a.ts": 'export const a = "from a";',
    "src/b.json": '{"from": "b"}',
    "scripts/tools/c/index.ts": 'export const c = "from c";',
    "up.ts": 'export const up = "from up";',
  });
  for (const text of ["from a", '"b"', "from c", "from up"]) expect(code).toContain(text);
});

test.each([
  ["a Node module", 'import fs from "fs";\nexport const x = fs;', /src\/index\.ts:1:16 .*cannot import "fs"/],
  [
    "a node: module",
    'const x = require("node:child_process");\nexport { x };',
    /src\/index\.ts:1:19 .*cannot import "node:child_process"/,
  ],
  ["a package", '\nimport _ from "lodash";\nexport const x = _;', /src\/index\.ts:2:15 .*cannot import "lodash"/],
  ["a file outside of the app", 'import { x } from "../../etc/passwd";\nexport { x };', /leads out of the app/],
  ["an absolute path", 'import { x } from "/etc/passwd";\nexport { x };', /cannot import "\/etc\/passwd"/],
  ["a missing file", 'import { x } from "./nope";\nexport { x };', /There is no file "src\/nope"/],
  ["import() of a text", 'export const f = () => import("./other");', /src\/index\.ts:1:31 Scripts cannot use import/],
  ["import() of a value", "export const f = (x: string) => import(x);", /src\/index\.ts:1:33 .*"import" expression/],
  ["import() of a pattern", "export const f = (x: string) => import(`./a/${x}`);", /src\/index\.ts:1:/],
  ["require() of a value", "export const f = (x: string) => require(x);", /src\/index\.ts:1:33 .*"require"/],
  ["await at the top", "export const x = 1;\nawait x;", /src\/index\.ts:2:1 Top-level await/],
  ["a syntax error", "function Create( {\n", /src\/index\.ts:2:1 /],
])("%s is refused with file and line", async (_what, source, message) => {
  expect(await refusal(source)).toMatch(message);
});

test("an error in an imported file names that file", async () => {
  expect(await refusal('import "./broken";', { "src/broken.ts": "\n\nlet let = 1;" })).toMatch(/src\/broken\.ts:3:/);
});

test("a missing entry is said to be missing", async () => {
  await expect(bundle({})).rejects.toMatchObject({ code: "not_found" });
});

test("equal files give one program, a changed import another, and a file that appears counts as a change", async () => {
  const bundler = new ScriptBundler();
  const files: Record<string, string> = {
    "src/index.ts": 'import { a } from "./a"; export const Create = () => a;',
    "src/a.js": "export const a = 1;",
  };
  const first = await bundler.bundle(appOf(files), "src/index.ts");
  expect(await bundler.bundle(appOf({ ...files, "src/other.ts": "" }), "src/index.ts")).toBe(first);
  const changed = await bundler.bundle(appOf({ ...files, "src/a.js": "export const a = 2;" }), "src/index.ts");
  expect(changed.digest).not.toBe(first.digest);
  const shadowed = await bundler.bundle(appOf({ ...files, "src/a.ts": "export const a = 3;" }), "src/index.ts");
  expect(shadowed.code).toContain("3");
  expect(await bundler.bundle(appOf(files), "src/index.ts")).toBe(first);
});

test("bundles are bounded in files and bytes", async () => {
  const files = { "src/index.ts": 'import "./a"; import "./b";', "src/a.ts": "var a = 1;", "src/b.ts": "var b = 1;" };
  const few = new ScriptBundler({ maxFiles: 2 });
  await expect(few.bundle(appOf(files), "src/index.ts")).rejects.toThrow(/at most 2 files/);
  const small = new ScriptBundler({ maxBytes: 30 });
  await expect(small.bundle(appOf(files), "src/index.ts")).rejects.toThrow(/at most 30 bytes/);
});

test("an old bundle is forgotten when there are too many", async () => {
  const bundler = new ScriptBundler({ maxCached: 2 });
  const at = async (n: number): Promise<ScriptProgram> =>
    await bundler.bundle(appOf({ "src/index.ts": `export const f = () => ${n};` }), "src/index.ts");
  const first = await at(1);
  await at(2);
  await at(3);
  expect(await at(1)).not.toBe(first);
});
