/** The peers: installed into a folder of their own when they are asked for, and given the same cases. */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { measured, type Usage } from "./measure.ts";
import { benchCases } from "./suite.ts";

/** A peer. */
export interface Peer {
  readonly name: string;
  readonly packages: readonly string[];
  /** Writes its files and says how it is started. */
  readonly prepare: (dir: string, count: number) => readonly string[];
}

const VITEST_EVAL = (count: number): string => `
import { createHarness, describeEval } from "vitest-evals";
import { expect } from "vitest";
const cases = ${JSON.stringify(benchCases(count))};
const said = (role, content) => ({ type: "message", role, content });
const echo = async ({ input }) => ({ output: input, events: [said("user", input), said("assistant", input)] });
const harness = createHarness({ name: "echo", run: echo });
describeEval("echo", { harness }, (it) => {
  it.for(cases)("$id", async ({ said, contains, pattern }, { run }) => {
    const { output } = await run(said);
    expect(output).toContain(contains);
    expect(output).toMatch(new RegExp(pattern, "i"));
  });
});
`;

/** The ones that are measured. */
export const PEERS: readonly Peer[] = [
  {
    name: "vitest-evals 0.16.1",
    packages: ["vitest-evals@0.16.1", "vitest@4.1.12", "ai@6", "zod@4", "tinyrainbow@3"],
    prepare: (dir, count) => {
      writeFileSync(join(dir, "echo.eval.test.mjs"), VITEST_EVAL(count));
      // Threads, so that what is read of the process is all of it.
      const flags = ["--pool=threads", "--reporter=json", "--outputFile=out.json"];
      return ["node_modules/vitest/vitest.mjs", "run", "echo.eval.test.mjs", ...flags];
    },
  },
  {
    name: "promptfoo 0.121.20",
    packages: ["promptfoo@0.121.20"],
    prepare: (dir, count) => {
      const tests = benchCases(count).map(({ said, contains, pattern }) => ({
        vars: { said },
        assert: [
          { type: "contains", value: contains },
          { type: "regex", value: pattern },
        ],
      }));
      const config = { prompts: ["{{said}}"], providers: ["echo"], tests };
      writeFileSync(join(dir, "promptfooconfig.json"), JSON.stringify(config));
      const flags = ["--no-cache", "--no-table", "--no-progress-bar", "--no-share", "-j", "4"];
      return ["node_modules/promptfoo/dist/src/entrypoint.js", "eval", "-c", "promptfooconfig.json", ...flags];
    },
  },
];

/** Where a peer lies. */
export function peerDir(root: string, { name }: Peer): string {
  return join(root, name.replace(/ .*/, ""));
}

/** Installs a peer unless it is there; no scripts of packages are run. */
export function install(root: string, peer: Peer): void {
  const dir = peerDir(root, peer);
  if (existsSync(join(dir, "node_modules"))) return;
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, "package.json"), '{"name":"peer","private":true}');
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"];
  const { status } = spawnSync("npm", ["install", ...flags, ...peer.packages], { cwd: dir, stdio: ["ignore", 2, 2] });
  if (status !== 0) throw new Error(`${peer.name} could not be installed`);
}

/** Echo work by a peer. */
export async function measurePeer(root: string, peer: Peer, count: number): Promise<Usage> {
  const cwd = peerDir(root, peer);
  const args = peer.prepare(cwd, count);
  const env = {
    PROMPTFOO_CONFIG_DIR: join(cwd, "home"),
    PROMPTFOO_DISABLE_TELEMETRY: "1",
    PROMPTFOO_DISABLE_UPDATE: "1",
  };
  return measured({ args, cwd, env });
}
