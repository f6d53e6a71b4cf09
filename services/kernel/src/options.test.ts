import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "vitest";

import { duration, flag, integer, oneOf, parseOptions, text } from "./options.ts";

const TABLE = {
  port: { env: "YAO_PORT", parse: integer(0, 65_535), default: 7400, doc: "" },
  name: { env: "YAO_NAME", parse: text, doc: "" },
  ttl: { env: "YAO_TTL", parse: duration, default: 1000, doc: "" },
  level: { env: "YAO_LEVEL", parse: oneOf("info", "debug"), default: "info", doc: "" },
  on: { env: "YAO_ON", parse: flag, default: false, doc: "" },
  token: { env: "YAO_TOKEN", parse: text, secret: true, doc: "" },
} as const;

test("empty means unset, flags win over variables, the rest takes its default", () => {
  const env = { YAO_PORT: "1", YAO_NAME: "", YAO_TTL: "1m30s", YAO_ON: "yes" };
  expect(parseOptions(TABLE, { env, flags: { port: "2" } })).toEqual({
    port: 2,
    name: undefined,
    ttl: 90_000,
    level: "info",
    on: true,
    token: undefined,
  });
});

test("all problems are reported at once, and a typo is one of them", () => {
  const env = { YAO_PORT: "70000", YAO_TTL: "soon", YAO_LEVEL: "loud", YAO_PROT: "1", HOME: "/" };
  expect(() => parseOptions(TABLE, { env })).toThrow(
    'configuration: YAO_PORT must be a whole number from 0 to 65535, not "70000"; YAO_TTL must be a duration such as 30s or 15m, not "soon"; ' +
      'YAO_LEVEL must be one of info, debug, not "loud"; YAO_PROT is not an option; see docs/generated/config.md',
  );
});

test("a value can stand in a file, so that secrets need not be in the environment", () => {
  const dir = mkdtempSync(join(tmpdir(), "yao-options-"));
  writeFileSync(join(dir, "token"), "s3cret\n");
  expect(parseOptions(TABLE, { env: { YAO_TOKEN_FILE: join(dir, "token") } }).token).toBe("s3cret");
  expect(() => parseOptions(TABLE, { env: { YAO_TOKEN_FILE: join(dir, "none") } })).toThrow(
    /cannot be read from .*none/,
  );
  rmSync(dir, { recursive: true });
});
