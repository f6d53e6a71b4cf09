import { systemIds, ulidOf } from "@mesh/kernel";
import { expect, test } from "vitest";

import { createUserKey } from "./nkey.ts";
import {
  inboxPrefix,
  nodeDigest,
  nodeOfSubject,
  runOfSubject,
  subjects,
  workDurable,
  workspaceOfSubject,
} from "./subjects.ts";

const node = nodeDigest(createUserKey().nkey);
const run = ulidOf(systemIds().next("run"));

test("a digest is 20 lower-case characters, the same for the same key", () => {
  const { nkey } = createUserKey();
  expect(nodeDigest(nkey)).toMatch(/^[0-9a-z]{20}$/);
  expect(nodeDigest(nkey)).toBe(nodeDigest(nkey));
  expect(nodeDigest(nkey)).not.toBe(node);
});

test("subjects have their literal form, and give their tokens back", () => {
  expect(subjects.heartbeat(node)).toBe(`mesh.v1.up.${node}.hb`);
  expect(subjects.rpc(node, "hello")).toBe(`mesh.v1.up.${node}.rpc.hello`);
  expect(subjects.command(node)).toBe(`mesh.v1.down.${node}.cmd`);
  expect(workDurable(node)).toBe(`n_${node}`);
  expect(inboxPrefix(node)).toBe(`_INBOX_${node}`);
  expect(nodeOfSubject(subjects.events(node, run))).toBe(node);
  expect(runOfSubject(subjects.events(node, run))).toBe(run);
  expect(runOfSubject(subjects.tail(run))).toBe(run);
  expect(subjects.feed(run)).toBe(`mesh.v1.feed.${run}`);
  expect(workspaceOfSubject(subjects.feed(run))).toBe(run);
});

test.each(["*", ">", "", "a.b", `${node}.>`, node.toUpperCase(), `${node}x`, `${node}\n`])(
  "the token %j cannot widen a subject",
  (token) => {
    expect(() => subjects.heartbeat(token)).toThrow(/not a node token/);
    expect(() => subjects.work(token)).toThrow(/not a node token/);
    expect(() => subjects.events(node, token)).toThrow(/not a run token/);
    expect(() => workDurable(token)).toThrow(/not a node token/);
    expect(() => inboxPrefix(token)).toThrow(/not a node token/);
  },
);

test("a method is a short lower-case word", () => {
  for (const method of ["*", ">", "a.b", "", "Hello", "x".repeat(33)]) {
    expect(() => subjects.rpc(node, method)).toThrow(/not a method token/);
    expect(() => subjects.anyRpc(method)).toThrow(/not a method token/);
  }
});
