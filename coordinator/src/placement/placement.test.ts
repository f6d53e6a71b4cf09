import * as fc from "fast-check";
import { expect, test } from "vitest";

import { type Candidate, capacityFor, place, type Requirements } from "./placement.ts";

const ANY: Requirements = { nodeId: "", labels: {}, os: "", arch: "", tools: [] };

function node(id: string, over: Partial<Candidate> = {}): Candidate {
  return {
    id,
    name: id,
    status: "online",
    lastSeenAt: "2026-01-01T00:00:00.000Z",
    draining: false,
    labels: {},
    os: "linux",
    arch: "x64",
    tools: new Set(["git"]),
    slots: 4,
    slotsUsed: 0,
    workspaceIds: [],
    penalized: false,
    ...over,
  };
}

test("P1: a named device that is offline makes the run wait for it by name, though others are free", () => {
  const decision = place("ws", { ...ANY, nodeId: "laptop" }, [node("laptop", { status: "offline" }), node("other")]);
  expect(decision).toMatchObject({ kind: "wait", reason: "waiting for device laptop" });
});

test("a named device that is draining or full says so", () => {
  expect(place("ws", { ...ANY, nodeId: "a" }, [node("a", { draining: true })])).toMatchObject({
    reason: "waiting for device a: draining",
  });
  expect(place("ws", { ...ANY, nodeId: "a" }, [node("a", { slotsUsed: 4 })])).toMatchObject({
    reason: "waiting for device a: all 4 slots in use",
  });
});

test("P5: a run goes on where its files are, though others are emptier", () => {
  const requirements = { ...ANY, home: { nodeId: "home", isOnly: true } };
  const nodes = [node("home", { slotsUsed: 3 }), node("other")];
  expect(place("ws", requirements, nodes)).toMatchObject({
    kind: "place",
    nodeId: "home",
    summary: "home: holds this run's files",
  });
  expect(capacityFor("ws", requirements, nodes)).toBe(1);
});

test.each<[string, Partial<Candidate>, string]>([
  ["offline", { status: "offline" }, "waiting for device home, which holds this run's files"],
  ["draining", { draining: true }, "waiting for device home, which holds this run's files: draining"],
  ["full", { slotsUsed: 4 }, "waiting for device home, which holds this run's files: all 4 slots in use"],
])("P5: a run that needs its files waits for their device while that is %s", (_what, over, reason) => {
  const nodes = [node("home", over), node("other")];
  expect(place("ws", { ...ANY, home: { nodeId: "home", isOnly: true } }, nodes)).toMatchObject({
    kind: "wait",
    reason,
  });
});

test("P5: a run that can do without its files leaves a device that is away or removed, and no other", () => {
  const requirements = { ...ANY, home: { nodeId: "home", isOnly: false } };
  const placed = (...nodes: readonly Candidate[]): unknown => place("ws", requirements, nodes);
  const elsewhere = { kind: "place", nodeId: "other", summary: "other: the only node that fits (4 of 4 slots free)" };
  expect(placed(node("home", { status: "offline" }), node("other"))).toMatchObject(elsewhere);
  expect(placed(node("other"))).toMatchObject(elsewhere);
  expect(placed(node("home", { status: "suspect", slotsUsed: 3 }), node("other"))).toMatchObject({ nodeId: "home" });
  expect(placed(node("home", { slotsUsed: 4 }), node("other"))).toMatchObject({ kind: "wait" });
});

test("P1 and P5: a run that names a device stays there, whatever holds its files", () => {
  const requirements = { ...ANY, nodeId: "named", home: { nodeId: "home", isOnly: false } };
  expect(place("ws", requirements, [node("named", { status: "offline" }), node("home")])).toMatchObject({
    kind: "wait",
  });
});

test("a label that no device has is named in the reason", () => {
  expect(place("ws", { ...ANY, labels: { gpu: "yes" } }, [node("a"), node("b", { labels: { gpu: "no" } })])).toEqual({
    kind: "wait",
    reason: "no device matches with gpu=yes",
    verdicts: [
      { nodeId: "a", node: "a", eligible: false, reason: "label gpu=yes missing" },
      { nodeId: "b", node: "b", eligible: false, reason: "label gpu is no, not yes" },
    ],
  });
});

test("the emptiest node wins, penalized and suspect ones come last", () => {
  const nodes = [
    node("busy", { slotsUsed: 2 }),
    node("penalized", { penalized: true }),
    node("suspect", { status: "suspect" }),
    node("calm", { slotsUsed: 1 }),
  ];
  expect(place("ws", ANY, nodes)).toMatchObject({ kind: "place", nodeId: "calm" });
});

test("the explanation of a large fleet names the chosen node", () => {
  const fleet = Array.from({ length: 50 }, (_, i) => node(`n${i}`, { slotsUsed: i === 40 ? 0 : 1 }));
  const decision = place("ws", ANY, fleet);
  expect(decision).toMatchObject({ kind: "place", nodeId: "n40" });
  expect(decision.verdicts).toHaveLength(20);
  expect(decision.verdicts[0]).toMatchObject({ nodeId: "n40", reason: "chosen: 4 of 4 slots free" });
});

test("the capacity for some demands is the free slots of the nodes that fit", () => {
  const fleet = [
    node("a", { slotsUsed: 1 }),
    node("b", { draining: true }),
    node("c", { labels: { gpu: "yes" } }),
    node("full", { slotsUsed: 5 }),
  ];
  expect(capacityFor("ws", ANY, fleet)).toBe(7);
  expect(capacityFor("ws", { ...ANY, labels: { gpu: "yes" } }, fleet)).toBe(4);
  expect(capacityFor("ws", { ...ANY, nodeId: "a" }, fleet)).toBe(3);
});

test("os, arch and tools are demands", () => {
  expect(place("ws", { ...ANY, os: "darwin" }, [node("a")])).toMatchObject({
    reason: "no device matches with os darwin",
  });
  expect(place("ws", { ...ANY, tools: ["docker"] }, [node("a")]).verdicts[0]?.reason).toBe(
    "docker was not found on it",
  );
});

test("no node at all tells how to add one", () => {
  expect(place("ws", ANY, [])).toMatchObject({
    reason: "no device has joined yet; add one with: yao node token create",
  });
});

const candidates = fc.array(
  fc.record({
    id: fc.string({ minLength: 1, maxLength: 6 }),
    status: fc.constantFrom("online" as const, "suspect" as const, "offline" as const),
    draining: fc.boolean(),
    slots: fc.integer({ min: 1, max: 3 }),
    slotsUsed: fc.integer({ min: 0, max: 4 }),
    penalized: fc.boolean(),
    labels: fc.dictionary(fc.constantFrom("gpu", "zone"), fc.constantFrom("a", "b")),
    workspaceIds: fc.subarray(["ws", "other"]),
  }),
  { maxLength: 8 },
);

test("P2 and P3: whatever the fleet, a chosen node fits, and the choice does not depend on the order of nodes", () => {
  fc.assert(
    fc.property(candidates, fc.dictionary(fc.constantFrom("gpu"), fc.constantFrom("a")), (raw, labels) => {
      const nodes = [...new Map(raw.map((entry) => [entry.id, node(entry.id, entry)])).values()];
      const requirements = { ...ANY, labels };
      const decision = place("ws", requirements, nodes);
      const fits = (entry: Candidate): boolean =>
        entry.status !== "offline" &&
        !entry.draining &&
        entry.slotsUsed < entry.slots &&
        (entry.workspaceIds.length === 0 || entry.workspaceIds.includes("ws")) &&
        Object.entries(labels).every(([key, value]) => entry.labels[key] === value);
      if (decision.kind === "wait") {
        expect(nodes.filter(fits)).toEqual([]);
        return;
      }
      expect(nodes.filter(fits).map((entry) => entry.id)).toContain(decision.nodeId);
      const reversed = place("ws", requirements, nodes.toReversed());
      expect(reversed.kind === "place" && reversed.nodeId).toBe(decision.nodeId);
    }),
  );
});
