import { MeshError } from "@mesh/kernel";
import { expect, test } from "vitest";

import { createLogger, type LoggerOptions } from "./logger.ts";

type Entry = Record<string, unknown> & { readonly err?: { readonly stack?: string; readonly cause?: unknown } };

function collecting(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  const logger = createLogger({
    name: "test",
    level: "debug",
    destination: { write: (line) => lines.push(line) },
    ...options,
  });
  return { logger, lines, entry: () => JSON.parse(lines.at(-1)!) as Entry };
}

test("a line carries level, name, time, component and the fields given", () => {
  const { logger, entry } = collecting();
  logger.child({ component: "runs" }).info({ runId: "run_1", leaseEpoch: 3 }, "run started");
  expect(entry()).toMatchObject({
    level: "info",
    name: "test",
    component: "runs",
    runId: "run_1",
    leaseEpoch: 3,
    msg: "run started",
  });
  expect(entry()["time"]).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
});

test("values under secret names are replaced at any depth, in children too", () => {
  const { logger, lines } = collecting();
  logger.child({ token: "hide-0" }).info(
    {
      password: "hide-1",
      req: { headers: { Authorization: "hide-2", "x-api-key": "hide-3", "set-cookie": ["hide-4"] } },
      list: [{ client_secret: "hide-5" }, { seed: "hide-6", jwt: "hide-7", apiKey: "hide-8" }],
    },
    "request",
  );
  expect(lines.join("")).not.toContain("hide-");
});

test("counts of tokens are not secrets", () => {
  const { logger, entry } = collecting();
  logger.info({ usage: { inputTokens: 12, output_tokens: 7 } }, "usage");
  expect(entry()["usage"]).toEqual({ inputTokens: 12, output_tokens: 7 });
});

test("secrets inside texts are replaced: URLs, bearer tokens, web tokens, nkey seeds, provider keys", () => {
  const { logger, lines } = collecting();
  const seed = `SU${"A".repeat(56)}`;
  logger.warn({ url: "postgres://yao:hide-1@127.0.0.1/yao" }, "Authorization: Bearer hide-2-and-more");
  logger.error(new Error(`bad ${seed} eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.hide-3 sk-hide4567890123456`), "failed");
  logger.error({ err: new Error("GET /x?api_key=hide-5&y=1") }, "failed");
  expect(lines.join("")).not.toMatch(/hide/);
  expect(lines.join("")).not.toContain(seed);
  expect(lines[0]).toContain("postgres://yao:[redacted]@127.0.0.1/yao");
});

test("an error gives type, code, message, stack and causes, and nothing else it carries", () => {
  const { logger, entry, lines } = collecting();
  const cause = Object.assign(new Error("socket closed"), { code: "ECONNRESET", config: { headers: "hide" } });
  const error = new MeshError("unavailable", "the node is away", { cause, details: { node: "n1", token: "hide" } });
  logger.error({ err: error, also: { nested: cause } }, "request failed");
  expect(entry().err).toMatchObject({
    type: "MeshError",
    code: "unavailable",
    message: "the node is away",
    details: { node: "n1", token: "[redacted]" },
    cause: { type: "Error", code: "ECONNRESET", message: "socket closed" },
  });
  expect(entry().err?.stack).toContain("logger.test.ts");
  expect(lines.join("")).not.toContain("hide");
});

test("a thrown object is named, not printed", () => {
  const { logger, entry } = collecting();
  logger.error({ err: { request: { body: "private" } } }, "odd");
  expect(JSON.stringify(entry().err)).toContain("private");
  logger.error({ err: new Error("x", { cause: { body: "private" } }) }, "odd");
  expect(entry().err?.cause).toEqual({ type: "object", message: "[object Object]" });
});

test("fields that refer to themselves end at a bounded depth", () => {
  const { logger, entry } = collecting();
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  logger.info({ loop }, "odd");
  expect(JSON.stringify(entry())).toContain("[too deep]");
});

test("levels below the chosen one are not written", () => {
  const { logger, lines } = collecting({ level: "warn" });
  logger.info("quiet");
  expect(lines).toEqual([]);
});

test("the form for people is one line of text, with the stack of an error below it", () => {
  const { logger, lines } = collecting({ pretty: true });
  logger.child({ component: "runs" }).info({ runId: "run_1", token: "hide" }, "run started");
  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d info {2}runs: run started runId=run_1 token=\[redacted\]\n$/);
  logger.error({ err: new Error("broken") }, "run failed");
  expect(lines[1]).toMatch(/error test: run failed\n {2}Error: broken\n/);
});
