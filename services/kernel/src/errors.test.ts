import { expect, test } from "vitest";

import { ERROR_CODES, errorText, MeshError, retryable, toErrorCode } from "./errors.ts";

test("E3: a MeshError passes through, anything else becomes one and keeps its cause", () => {
  const original = new MeshError("not_found", "no such run");
  expect(MeshError.from(original)).toBe(original);
  const cause = new Error("boom");
  expect(MeshError.from(cause)).toMatchObject({ code: "internal", message: "boom", cause });
  expect(MeshError.from("text")).toMatchObject({ code: "internal", message: "text" });
  expect(MeshError.from(undefined)).toMatchObject({ code: "internal" });
});

test.each([
  ["ECONNREFUSED", "unavailable"],
  ["ENOSPC", "resource_exhausted"],
  ["EACCES", "permission_denied"],
  ["ENOENT", "not_found"],
  ["EWHATEVER", "internal"],
])("errno %s becomes %s", (errno, code) => {
  expect(MeshError.from(Object.assign(new Error("x"), { code: errno })).code).toBe(code);
});

test("an abort is cancelled and a time-out is deadline_exceeded", () => {
  expect(MeshError.from(AbortSignal.abort().reason).code).toBe("cancelled");
  expect(MeshError.from(Object.assign(new Error("t"), { name: "TimeoutError" })).code).toBe("deadline_exceeded");
});

test("only conditions that pass by themselves are retryable", () => {
  expect(ERROR_CODES.filter(retryable)).toEqual(["deadline_exceeded", "aborted", "unavailable"]);
});

test("E1: codes of a newer peer become unknown", () => {
  expect(toErrorCode("not_found")).toBe("not_found");
  expect(toErrorCode("brand_new")).toBe("unknown");
});

test("errorText is the message of errors and the text of anything else", () => {
  expect(errorText(new Error("a"))).toBe("a");
  expect(errorText(7)).toBe("7");
});
