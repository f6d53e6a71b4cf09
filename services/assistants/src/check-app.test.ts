import { expect, test } from "vitest";

import { checkApp } from "./check-app.ts";
import { filesOf, show } from "./testing/app-of.ts";

test("what further checkers find stands among the rest, in the order of the files", async () => {
  const files = filesOf({ "assistants/a/package.yao": '{\n"nmae": 1}', "assistants/b/package.yao": { name: "B" } });
  const seen: string[] = [];
  const { app, problems } = await checkApp(files, [
    (checked, given) => {
      seen.push(...checked.assistants.keys(), String(given === files));
      return [{ file: "assistants/a/package.yao", line: 2, message: "odd", severity: "note" }];
    },
    async () => [{ file: "assistants/a/a.ts", line: 9, message: "bad", severity: "error" }],
  ]);
  expect(problems.map(show)).toEqual([
    "error assistants/a/a.ts:9 bad",
    "error assistants/a/package.yao:1 name is missing: it must be text",
    "note assistants/a/package.yao:2 odd",
    "warning assistants/a/package.yao:2 unknown key nmae; did you mean name?",
  ]);
  expect([...app.assistants.keys()]).toEqual(["b"]);
  expect(seen).toEqual(["b", "true"]);
});
