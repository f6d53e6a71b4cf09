import { expect, test } from "vitest";

import { readConfig } from "./config.ts";

test("options are read, typos are refused, other programs' variables are ignored", () => {
  const config = readConfig({
    YAO_NODE_DATA: "/d",
    YAO_NODE_SLOTS: "3",
    YAO_NODE_LABELS: "gpu=yes, site=home",
    YAO_NODE_ENV: "A,B",
    YAO_DATABASE_URL: "x",
  });
  expect(config).toMatchObject({
    dataDir: "/d",
    slots: 3,
    labels: { gpu: "yes", site: "home" },
    env: ["A", "B"],
    logLevel: "info",
  });
  expect(() => readConfig({ YAO_NODE_SLOT: "3", YAO_NODE_LABELS: "x" })).toThrow(
    /YAO_NODE_LABELS must be labels.*YAO_NODE_SLOT is not an option/,
  );
});
