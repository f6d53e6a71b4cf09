import { execFileSync } from "node:child_process";

import { expect, test } from "vitest";

import { snippetOf } from "./snippets.ts";

const connection = { baseUrl: "https://mesh.example/v1", model: 'it\'s "odd"', token: "yao_1" };

test("a shell reads the curl command as it is meant, whatever the model is called", () => {
  const script = snippetOf("curl", connection).replace("curl ", "printf '%s\\n' ");
  const words = execFileSync("/bin/sh", ["-c", script], { encoding: "utf8" }).trimEnd().split("\n");
  expect(words.slice(0, 3)).toEqual(["https://mesh.example/v1/chat/completions", "-H", "Authorization: Bearer yao_1"]);
  expect(JSON.parse(words.at(-1) ?? "")).toMatchObject({ model: connection.model });
});

test("the programs name the address, the model and the token", () => {
  for (const language of ["python", "javascript"] as const) {
    const text = snippetOf(language, connection);
    for (const value of Object.values(connection)) expect(text).toContain(JSON.stringify(value));
  }
});
