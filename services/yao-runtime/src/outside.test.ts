import { format } from "node:util";

import { expect, test } from "vitest";

import { Context } from "./context.ts";
import { Exception } from "./exception.ts";
import { FS } from "./fs.ts";
import { http } from "./http.ts";
import { $L } from "./locale.ts";
import { log, time } from "./log.ts";
import { MCP } from "./mcp.ts";
import { All, Any, Process, Race } from "./process.ts";
import { Query } from "./query.ts";
import { Store } from "./store.ts";
import { Trace } from "./trace.ts";
import { Authorized, Use } from "./use.ts";

test.each<[string, () => unknown]>([
  ["Process", () => Process("utils.str.UUID")],
  ["All", () => All([])],
  ["Any", () => Any([])],
  ["Race", () => Race([])],
  ["http", () => http.Get("https://example.com")],
  ["Store", () => new Store("cache")],
  ["FS", () => new FS("data")],
  ["Query", () => new Query()],
  ["Exception", () => new Exception("x", 1)],
  ["Exception", () => Exception("x")],
  ["Authorized", () => Authorized()],
  ["Use", () => Use(FS, "data", () => 1)],
  ["Context", () => new Context()],
  ["MCP", () => MCP("shop")],
  ["Trace", () => new Trace()],
  ["log", () => log.Info("x")],
  ["time", () => time.Sleep(1)],
  ["$L", () => $L("x")],
])("%s says that it exists only inside a run", (name, use) => {
  expect(use).toThrow(`${name} exists only inside Yao Mesh`);
});

test("a name can be looked at and handed on without being used", () => {
  expect(typeof Process).toBe("function");
  expect(format("%o", http)).toContain("outsideOfRun");
  expect(Object.prototype.toString.call(log)).toBe("[object Function]");
});
