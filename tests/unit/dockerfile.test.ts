/** What can be known about the Dockerfile without a container engine. */

import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { describe, expect, test } from "vitest";

import { read, ROOT, skipReason, optionsOf } from "./repository.ts";

describe("Dockerfile", () => {
  const text = read("deploy/Dockerfile").replaceAll(/\\\n/g, " ");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const stages = splitStages(lines);

  test("consists of known instructions", () => {
    for (const line of lines) {
      expect(line.trim()).toMatch(/^(ARG|FROM|WORKDIR|COPY|RUN|ENV|USER|VOLUME|EXPOSE|HEALTHCHECK|ENTRYPOINT|CMD)\b/);
    }
  });

  test("starts from one image, pinned to the Node version of this repository", () => {
    const version = read(".node-version").trim();
    expect(lines[0]).toBe(`ARG NODE_IMAGE=node:${version}-bookworm-slim`);
    for (const { base } of stages.values()) {
      expect([...stages.keys(), "${NODE_IMAGE}"]).toContain(base);
    }
  });

  test("copies the manifest of every workspace before it installs", () => {
    const { workspaces } = JSON.parse(read("package.json")) as { workspaces: string[] };
    for (const workspace of workspaces) {
      expect(stages.get("manifests")?.lines).toContain(`COPY ${workspace}/package.json ${workspace}/`);
    }
  });

  test("copies only what the ignore file lets through", () => {
    const allowed = [...read("deploy/Dockerfile.dockerignore").matchAll(/^!(.+)$/gm)].map((match) => match[1] ?? "");
    const copied = lines.filter((line) => line.startsWith("COPY ") && !line.includes("--from="));
    for (const source of copied.flatMap((line) => line.split(/\s+/).slice(1, -1))) {
      expect(
        allowed.some((path) => source === path || source.startsWith(`${path}/`)),
        source,
      ).toBe(true);
    }
  });

  test("copies from stages that exist", () => {
    for (const match of text.matchAll(/--from=(\S+)/g)) expect([...stages.keys()]).toContain(match[1]);
  });

  test("installs by the lock file and runs no install scripts", () => {
    for (const match of text.matchAll(/(?<!\.)\bnpm ([a-z]\w*)([^\n]*)/g)) {
      expect(match[1]).toBe("ci");
      expect(match[2]).toContain("--ignore-scripts");
    }
  });

  test.each([
    ["coordinator", "coordinator/dist/main.js"],
    ["node", "services/cli/dist/main.js"],
  ])("the image %s runs %s as an ordinary user and states its health", (target, script) => {
    const own = stages.get(target)?.lines ?? [];
    const runtime = stages.get("runtime")?.lines ?? [];
    expect(stages.get(target)?.base).toBe("runtime");
    expect(runtime.at(-1)).toBe("USER node");
    expect(own.some((line) => line.startsWith("HEALTHCHECK "))).toBe(true);
    expect(own.find((line) => line.startsWith("ENTRYPOINT "))).toContain(`"${script}"`);
    const source = script.replace("/dist/", "/src/").replace(/\.js$/, ".ts");
    if (!skipReason(existsSync(join(ROOT, source)) ? undefined : `${source} does not exist`, `entry of ${target}`)) {
      expect(statSync(join(ROOT, source)).isFile()).toBe(true);
    }
  });

  test.each([
    ["coordinator", "coordinator/src/config.ts"],
    ["node", "node-agent/src/config.ts"],
  ])("the image %s sets only options that %s or the command line knows", (target, config) => {
    const cli = "services/cli/src/config.ts";
    const absent = [config, cli].find((path) => !existsSync(join(ROOT, path)));
    if (skipReason(absent === undefined ? undefined : `${absent} does not exist`, `options of ${target}`)) return;
    const known = new Set([...optionsOf(config), ...optionsOf(cli)]);
    const set = [...(stages.get(target)?.lines ?? []).join("\n").matchAll(/\b(YAO_[A-Z_]+)=/g)].map(
      (match) => match[1],
    );
    expect(set.length).toBeGreaterThan(0);
    expect(set.filter((name) => !known.has(name))).toEqual([]);
  });

  test("compose builds stages that exist", () => {
    const compose = parse(read("deploy/compose.yaml"), { merge: true }) as {
      readonly services: Readonly<Record<string, { readonly build?: { readonly target: string } }>>;
    };
    for (const { build } of Object.values(compose.services)) {
      if (build !== undefined) expect([...stages.keys()]).toContain(build.target);
    }
  });
});

interface Stage {
  readonly base: string;
  readonly lines: string[];
}

function splitStages(lines: readonly string[]): Map<string, Stage> {
  const stages = new Map<string, Stage>();
  let current: Stage | undefined;
  for (const line of lines) {
    const from = /^FROM (\S+) AS (\S+)$/.exec(line);
    if (from !== null) {
      current = { base: from[1] ?? "", lines: [] };
      stages.set(from[2] ?? "", current);
    } else {
      current?.lines.push(line);
    }
  }
  return stages;
}
