import { MeshError } from "@mesh/kernel";
import { expect, test } from "vitest";

import { databaseError } from "./database-error.ts";

function failure(code: string): Error {
  return Object.assign(new Error("as the server says"), { code });
}

test.each([
  ["CONNECTION_CLOSED", "unavailable"],
  ["ECONNREFUSED", "unavailable"],
  ["57P01", "unavailable"],
  ["08006", "unavailable"],
  ["57014", "deadline_exceeded"],
  ["40001", "aborted"],
  ["40P01", "aborted"],
  ["23505", "already_exists"],
  ["23503", "failed_precondition"],
  ["28P01", "unauthenticated"],
  ["53300", "resource_exhausted"],
  ["42601", "internal"],
])("%s is %s", (state, code) => {
  const cause = failure(state);
  expect(databaseError(cause, "cannot save")).toMatchObject({
    code,
    message: "cannot save: as the server says",
    cause,
  });
});

test("an error of this system stays as it is", () => {
  const error = new MeshError("not_found", "no such run");
  expect(databaseError(error)).toBe(error);
});
