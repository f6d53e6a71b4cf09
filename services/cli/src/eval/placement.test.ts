import { InvalidArgumentError } from "commander";
import { describe, expect, test } from "vitest";

import { type PlacementFlags, placementOf, wantsDevices } from "./placement.ts";

const ALL = { mode: "spread", copies: 0, max_nodes: 0, nodes: [], labels: {} };

describe("where an eval runs", () => {
  test.each<[PlacementFlags, object]>([
    [{ nodes: "all" }, {}],
    [{ nodes: "3" }, { max_nodes: 3 }],
    [{ nodes: "laptop, desk" }, { nodes: ["laptop", "desk"] }],
    [{ nodes: "label=site=home" }, { labels: { site: "home" } }],
    [{ nodes: "label=site=home,gpu=yes" }, { labels: { site: "home", gpu: "yes" } }],
    [{ nodes: "laptop,label=a=b=c" }, { nodes: ["laptop"], labels: { a: "b=c" } }],
    [{ each: true }, { mode: "each" }],
    [
      { mirror: 3, nodes: "all" },
      { mode: "mirror", copies: 3 },
    ],
    [{ sticky: true }, { mode: "sticky" }],
    [{ spread: true }, {}],
  ])("%j is %j", (flags, expected) => {
    expect(placementOf(flags)).toEqual({ ...ALL, ...expected });
    expect(wantsDevices(flags)).toBe(true);
  });

  test.each<[PlacementFlags, RegExp]>([
    [{ each: true, mirror: 2 }, /--each and --mirror exclude each other/],
    [{ nodes: "," }, /must be all, a number/],
    [{ nodes: "0" }, /1 to 1000/],
    [{ nodes: "label=site" }, /label=KEY=VALUE/],
  ])("%j is refused", (flags, message) => {
    const attempt = (): unknown => placementOf(flags);
    expect(attempt).toThrow(InvalidArgumentError);
    expect(attempt).toThrow(message);
  });

  test("without any of the flags an eval runs here", () => {
    expect(wantsDevices({})).toBe(false);
  });
});
