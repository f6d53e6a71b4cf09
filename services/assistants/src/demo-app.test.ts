import { expect, test } from "vitest";

import { readAppDirectory } from "./app-directory.ts";
import { bundleApp, readBundle } from "./bundle.ts";
import { demoAppDirectory } from "./demo-app.ts";
import { loadApp } from "./load-app.ts";
import { localizeAssistant } from "./localize.ts";
import { renderPrompts } from "./render-prompts.ts";
import { resolveConnector } from "./resolve-connector.ts";

test("the demo app loads without a finding and runs on the built-in connector in both languages", async () => {
  const files = await readAppDirectory(demoAppDirectory);
  const { app, problems } = loadApp(readBundle(bundleApp(files).bytes));
  expect(problems).toEqual([]);
  expect([...app.assistants.keys()]).toEqual(["counter", "hello", "notebook", "slow", "writer"]);
  for (const assistant of app.assistants.values()) {
    const env = (): undefined => undefined;
    expect(resolveConnector({ app, workspaceConnectors: new Map(), assistant, env }).type).toBe("demo");
    for (const locale of ["en-us", "zh-cn"]) {
      const sys = { now: new Date(0), timezone: "UTC" };
      const prompts = renderPrompts({ app, assistant, sys, env, ctx: {}, locale });
      const seen = JSON.stringify([localizeAssistant(assistant, locale, app), prompts]);
      expect(seen).not.toMatch(/\{\{|\$SYS|\$CTX|@assets|chat\.|tags\./);
      expect(seen.includes("演示")).toBe(locale === "zh-cn");
    }
  }
});
