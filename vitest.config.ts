import { defineConfig } from "vitest/config";

const INFRA = ["{proto,services,coordinator,node-agent}/**/*.{pg,nats,infra}.test.ts", "tests/spec/**/*.test.ts"];
const conditions = ["@mesh/source", "node"];
const shared = { resolve: { conditions }, ssr: { resolve: { conditions } } };

export default defineConfig({
  ...shared,
  test: {
    projects: [
      {
        ...shared,
        test: {
          name: "unit",
          include: [
            "{proto,services,coordinator,node-agent}/**/*.test.ts",
            "services/*/src/**/*.test.ts",
            "tests/{unit,llm-server,harness}/**/*.test.ts",
          ],
          exclude: [...INFRA, "**/node_modules/**", "**/dist/**"],
        },
      },
      "web/vitest.config.ts",
      { ...shared, test: { name: "architecture", include: ["tests/architecture.test.ts"] } },
      {
        ...shared,
        test: {
          name: "infra",
          include: INFRA,
          exclude: ["**/node_modules/**", "**/dist/**"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          globalSetup: ["tests/harness/infra-setup.ts"],
          maxWorkers: 2,
        },
      },
      {
        ...shared,
        test: {
          name: "e2e",
          include: ["tests/{e2e,conformance,chaos}/**/*.test.ts", "web/src/**/*.browser.test.ts"],
          globalSetup: ["tests/harness/built-setup.ts"],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
          // Each page of a browser takes most of a core while it loads.
          maxConcurrency: 3,
          expect: { poll: { timeout: 20_000 } },
        },
      },
    ],
  },
});
