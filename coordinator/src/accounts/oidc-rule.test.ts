import { expect, test } from "vitest";

import { accountNames, isAdminBy, isAllowed, readPerson } from "./oidc-rule.ts";

const ISSUER = "https://id.example";
const person = (claims: object) => {
  const read = readPerson(ISSUER, { sub: "1", ...claims });
  if (read === undefined) throw new Error("no person");
  return read;
};
const rules = (...allow: string[]) => ({ allow, groupAdmin: undefined });

test.each([
  [["example.org"], { email: "ann@example.org", email_verified: true }, true],
  [["@Example.org"], { email: "ann@EXAMPLE.org", email_verified: true }, true],
  [["ann@example.org"], { email: "ann@example.org", email_verified: true }, true],
  [["ann@example.org"], { email: "bob@example.org", email_verified: true }, false],
  [["example.org"], { email: "ann@example.org" }, false],
  [["example.org"], { email: "ann@example.org", email_verified: "true" }, false],
  [["example.org"], { email: "ann@evil-example.org", email_verified: true }, false],
  [["example.org"], { email: "ann@sub.example.org", email_verified: true }, false],
  [["example.org"], { email: "ann@example.org@evil.example", email_verified: true }, false],
  [["group:staff"], { groups: ["staff"] }, true],
  [["group:staff"], { groups: ["staff-guests"] }, false],
  [["group:staff"], { groups: "staff" }, false],
  [[], { email: "ann@example.org", email_verified: true, groups: ["staff"] }, false],
])("%j lets %j in: %s", (allow, claims, isIn) => {
  expect(isAllowed(rules(...allow), person(claims))).toBe(isIn);
});

test("the group of administrators decides, and without one nothing is decided", () => {
  expect(isAdminBy({ allow: [], groupAdmin: "root" }, person({ groups: ["root"] }))).toBe(true);
  expect(isAdminBy({ allow: [], groupAdmin: "root" }, person({ groups: [] }))).toBe(false);
  expect(isAdminBy(rules(), person({ groups: ["root"] }))).toBeUndefined();
});

test("names of accounts are plain, and others follow when one is taken", () => {
  const names = accountNames(person({ preferred_username: "../Änn O'Neil" }), "abc");
  expect(names.slice(0, 2)).toEqual(["nn-O-Neil", "nn-O-Neil-2"]);
  expect(names.at(-1)).toBe("nn-O-Neil-abc");
  expect(accountNames(person({ email: "bob@example.org", email_verified: true }), "x")[0]).toBe("bob");
  expect(accountNames(person({ preferred_username: "字" }), "x")[0]).toBe("user");
});

test("who has no subject is nobody", () => {
  expect(readPerson(ISSUER, { email: "ann@example.org" })).toBeUndefined();
  expect(readPerson(ISSUER, { sub: "" })).toBeUndefined();
});
