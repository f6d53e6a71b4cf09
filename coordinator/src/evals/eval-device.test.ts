import { expect, test } from "vitest";

import type { Candidate } from "../placement/placement.ts";
import { type DeviceQuestion, judgeDevices, unknownNames, waitingText } from "./eval-device.ts";
import { isOdd, oddText } from "./quarantine.ts";

const node = (name: string, part: Partial<Candidate> = {}): Candidate => ({
  id: `node_${name}`,
  name,
  status: "online",
  lastSeenAt: "2026-03-01T00:00:00Z",
  draining: false,
  labels: {},
  os: "linux",
  arch: "x64",
  tools: new Set(),
  slots: 2,
  slotsUsed: 0,
  workspaceIds: [],
  penalized: false,
  ...part,
});
const PLACEMENT = { mode: "spread", copies: 1, max_nodes: 0, nodes: [], labels: {} } as const;
const question = (part: Partial<DeviceQuestion> = {}): DeviceQuestion => ({
  workspaceId: "ws_1",
  allowedIds: undefined,
  placement: PLACEMENT,
  ...part,
});
const states = (nodes: readonly Candidate[], part?: Partial<DeviceQuestion>): string[] =>
  judgeDevices(nodes, question(part)).map(({ name, state, reason }) => `${name} ${state}${reason && `: ${reason}`}`);

test("each device that does not take part says why", () => {
  const nodes = [
    node("a"),
    node("b", { status: "offline" }),
    node("c", { status: "offline", lastSeenAt: undefined }),
    node("d", { draining: true }),
    node("e", { status: "suspect", slotsUsed: 3 }),
  ];
  expect(states(nodes, { quarantined: new Map([["node_e", "odd"]]) })).toEqual([
    "a active",
    "b offline: offline since 2026-03-01T00:00:00Z",
    "c offline: never seen",
    "d draining: draining",
    "e quarantined: odd",
  ]);
  expect(judgeDevices([node("x", { slotsUsed: 3 })], question())[0]?.free).toBe(0);
});

test("devices that do not serve the workspace, or that it leaves out, are not its devices", () => {
  const nodes = [node("a"), node("b", { workspaceIds: ["ws_2"] }), node("c", { workspaceIds: ["ws_1"] })];
  expect(states(nodes)).toEqual(["a active", "c active"]);
  expect(states(nodes, { allowedIds: ["node_c"] })).toEqual(["c active"]);
});

test("names, ids and labels of the placement decide", () => {
  const nodes = [node("a", { labels: { gpu: "yes" } }), node("b", { labels: { gpu: "no" } }), node("c")];
  expect(states(nodes, { placement: { ...PLACEMENT, nodes: ["a", "node_b"] } })).toEqual([
    "a active",
    "b active",
    "c unfit: the placement does not name it",
  ]);
  expect(states(nodes, { placement: { ...PLACEMENT, labels: { gpu: "yes" } } })).toEqual([
    "a active",
    "b unfit: label gpu is no, not yes",
    "c unfit: label gpu=yes missing",
  ]);
  const devices = judgeDevices(nodes, question());
  expect(unknownNames({ ...PLACEMENT, nodes: ["a", "node_b", "z"] }, devices)).toEqual(["z"]);
});

test("of more devices than wanted, those that take part stay, then the ones with the most slots come", () => {
  const nodes = [node("a"), node("b", { slots: 8 }), node("c", { slots: 4 }), node("d", { slots: 16, draining: true })];
  const placement = { ...PLACEMENT, max_nodes: 2 };
  const active = (joined: string[]): string[] =>
    judgeDevices(nodes, question({ placement, joined: new Set(joined) }))
      .filter(({ state }) => state === "active")
      .map(({ name }) => name);
  expect(active([])).toEqual(["b", "c"]);
  expect(active(["node_a"])).toEqual(["a", "b"]);
});

test("what an eval waits for is said in words", () => {
  expect(waitingText([])).toContain("yao node token create");
  const nodes = [node("a", { status: "offline" }), node("b", { status: "offline" }), node("c", { draining: true })];
  expect(waitingText(judgeDevices(nodes, question()))).toBe("waiting for a device: a, b are offline; c is draining");
  const labels = { gpu: "yes" };
  expect(waitingText(judgeDevices([node("a")], question({ placement: { ...PLACEMENT, labels } })))).toContain("fits");
});

test("a device is odd after three failures in a row, or when more than a fifth of ten tries failed", () => {
  const did = (infraErrors: number, infraInARow: number, results: number): boolean =>
    isOdd({ infraErrors, infraInARow, results });
  expect([did(2, 2, 0), did(3, 3, 50), did(2, 0, 8), did(3, 0, 7), did(3, 0, 6)]).toEqual([
    false,
    true,
    false,
    true,
    false,
  ]);
  expect(oddText({ infraErrors: 3, infraInARow: 0, results: 7 })).toContain("3 of 10 tries failed");
});
