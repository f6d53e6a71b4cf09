import { expect, test } from "vitest";

import { loadApp } from "./load-app.ts";
import { localizeAssistant } from "./localize.ts";

function localized(locale: string, files: Readonly<Record<string, string>>, text = "{{ greeting }}"): string {
  const encoder = new TextEncoder();
  const all = { "assistants/a/package.yao": JSON.stringify({ name: "A", description: text }), ...files };
  const { app, problems } = loadApp(
    new Map(Object.entries(all).map(([path, content]) => [path, encoder.encode(content)])),
  );
  expect(problems).toEqual([]);
  return localizeAssistant(app.assistants.get("a")!, locale, app).description;
}

const OWN = "assistants/a/locales";

test.each<[name: string, locale: string, files: Record<string, string>, expected: string]>([
  [
    "the requested locale",
    "zh-cn",
    { [`${OWN}/zh-cn.yml`]: "greeting: 你好", [`${OWN}/en-us.yml`]: "greeting: Hi" },
    "你好",
  ],
  ["its language", "de-at", { [`${OWN}/de.yml`]: "greeting: Servus", [`${OWN}/en-us.yml`]: "greeting: Hi" }, "Servus"],
  [
    "another region of it",
    "zh",
    { [`${OWN}/zh-cn.yml`]: "greeting: 你好", [`${OWN}/en-us.yml`]: "greeting: Hi" },
    "你好",
  ],
  ["any spelling of its name", "ZH_CN", { [`${OWN}/zh-CN.yml`]: "greeting: 你好" }, "你好"],
  ["the app's texts", "zh-cn", { "agent/locales/zh-cn.yml": "greeting: 全局" }, "全局"],
  [
    "the assistant's before the app's",
    "zh-cn",
    { [`${OWN}/zh.yml`]: "greeting: 自己", "agent/locales/zh-cn.yml": "greeting: 全局" },
    "自己",
  ],
  ["en-us as the last resort", "fr", { [`${OWN}/en-us.yml`]: "greeting: Hi" }, "Hi"],
  ["plain en for en-us", "fr", { [`${OWN}/en.yml`]: "greeting: Hi" }, "Hi"],
  ["a locale that is named by its region alone", "cn", { [`${OWN}/zh-cn.yml`]: "greeting: 你好" }, "你好"],
  ["the key when nothing has it", "fr", { [`${OWN}/en-us.yml`]: "other: Hi" }, "greeting"],
])("a text comes from %s", (_name, locale, files, expected) => {
  expect(localized(locale, files)).toBe(expected);
});

test("keys inside text and inside translations are replaced, and a cycle ends", () => {
  const files = { [`${OWN}/en-us.yml`]: "a: '<{{ b }}>'\nb: B\nloop: '{{ loop }}'\ntwice: '{{ twice }}{{ twice }}'\n" };
  expect(localized("en-us", files, "x {{a}} y {{ b }}")).toBe("x <B> y B");
  expect(localized("en-us", files, "{{ loop }}")).toContain("loop");
  expect(localized("en-us", files, "{{ twice }}").length).toBeLessThan(10_000);
});

test("a key behind __global__ means the app's text, whatever the assistant says", () => {
  const files = {
    [`${OWN}/de.yml`]: "greeting: own",
    "agent/locales/en-us.yml": "greeting: shared",
    "agent/locales/de.yml": "other: x",
  };
  expect(localized("de", files, "{{ greeting }}, {{ __global__.greeting }}, {{ __global__.none }}")).toBe(
    "own, shared, __global__.none",
  );
});

test("names of objects' own members are no keys", () => {
  expect(localized("constructor", {}, "{{ toString }} {{ __proto__ }}")).toBe("toString __proto__");
});

test("the placeholder and the tags are translated", () => {
  const encoder = new TextEncoder();
  const source = {
    name: "{{ name }}",
    tags: ["General", "{{ tag }}"],
    placeholder: { title: "{{ t }}", prompts: ["{{ chat.0 }}", "plain"] },
  };
  const { app } = loadApp(
    new Map([
      ["assistants/a/package.yao", encoder.encode(JSON.stringify(source))],
      [`${OWN}/en-us.yml`, encoder.encode("name: N\ntag: T\nt: Title\nchat: [One]\n")],
      ["agent/locales/en-us.yml", encoder.encode("General: Allgemein\n")],
    ]),
  );
  expect(localizeAssistant(app.assistants.get("a")!, "en-us", app)).toEqual({
    name: "N",
    description: "",
    tags: ["Allgemein", "T"],
    placeholder: { title: "Title", description: "", prompts: ["One", "plain"] },
  });
});
