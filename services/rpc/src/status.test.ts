import { Metadata, type ServiceError, status as Status } from "@grpc/grpc-js";
import { ERROR_CODES, MeshError } from "@mesh/kernel";
import { expect, test } from "vitest";

import { fromStatus, REQUEST_ID_KEY, toStatus } from "./status.ts";

const received = (status: ReturnType<typeof toStatus>): ServiceError =>
  Object.assign(new Error(status.details), status);

test.each(ERROR_CODES.map((code, index) => [code, index + 1] as const))(
  "%s travels as number %i and back",
  (code, number) => {
    const status = toStatus(new MeshError(code, "what to do"), "req_1");
    expect(status.code).toBe(number);
    expect(fromStatus(received(status)).code).toBe(code);
  },
);

test("details travel while they are small, and are left out when they are not", () => {
  const small = new MeshError("invalid_argument", "m", { details: { errors: [1] } });
  expect(fromStatus(received(toStatus(small, "req_1"))).details).toEqual({ errors: [1] });
  const large = new MeshError("invalid_argument", "m", { details: { text: "x".repeat(10_000) } });
  expect(fromStatus(received(toStatus(large, "req_1"))).details).toBeUndefined();
});

test("an internal error shows its id only", () => {
  const status = toStatus(new Error("password=hunter2"), "req_7");
  expect(status.details).not.toContain("hunter2");
  expect(status.details).toContain("req_7");
  expect(status.metadata.get(REQUEST_ID_KEY)).toEqual(["req_7"]);
});

test("a status of another server becomes a MeshError by its number", () => {
  const foreign = { code: Status.NOT_FOUND, details: "x", metadata: new Metadata() };
  expect(fromStatus(Object.assign(new Error("5 NOT_FOUND: x"), foreign))).toMatchObject({
    code: "not_found",
    message: "x",
  });
});
