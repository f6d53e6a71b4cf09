/** Evals over several devices, against a real mesh, through the API. */

import { join } from "node:path";

import { bundleApp, readAppDirectory } from "@mesh/assistants";
import { until } from "@mesh/kernel";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { SUITE_AGENT, suiteCases, writeSuite } from "../chaos/eval-suite.ts";
import { refusalOf } from "../harness/api-client.ts";
import { TestMesh } from "../harness/test-mesh.ts";

interface EvalView {
  readonly id: string;
  readonly state: string;
  readonly reason: string;
  readonly last_seq: number;
  readonly counts: Readonly<Record<string, number>>;
  readonly nodes: readonly { readonly name: string; readonly state: string; readonly passed: number }[];
}

interface LogRow {
  readonly seq: number;
  readonly case_id: string;
  readonly run: number;
  readonly copy: number;
  readonly node: string;
  readonly status: string;
  readonly observation: boolean;
  readonly result: { readonly id: string; readonly device?: string; readonly output: unknown };
}

const CASES = suiteCases(20, 100);
/** Of twenty: numbers 7 and 17. */
const WRONG = 2;

describe("evals over several devices", () => {
  let mesh: TestMesh;
  let bundle: string;

  beforeAll(async () => {
    mesh = await TestMesh.start({
      env: { YAO_LEASE_GRACE: "1s" },
      nodes: [
        { name: "alpha", slots: 2 },
        { name: "beta", slots: 2 },
      ],
    });
    const { app } = writeSuite(join(mesh.dir, "suite"), CASES);
    const { bytes } = bundleApp(await readAppDirectory(app));
    const path = "/v1/workspaces/default/evals/bundles";
    const pushed = await mesh.api.call<{ digest: string; assistants: string[] }>("POST", path, bytes);
    expect(pushed.assistants).toContain(SUITE_AGENT);
    bundle = pushed.digest;
  });

  afterAll(async () => {
    await mesh.stop();
  });

  async function create(body: object = {}): Promise<EvalView> {
    const wish = { workspace: "default", assistant: SUITE_AGENT, bundle_digest: bundle, cases: CASES, ...body };
    return (await mesh.api.call<{ eval: EvalView }>("POST", "/v1/evals", wish)).eval;
  }

  async function read(id: string): Promise<EvalView> {
    return (await mesh.api.call<{ eval: EvalView }>("GET", `/v1/evals/${id}`)).eval;
  }

  async function ended(id: string, states: readonly string[] = ["ended"]): Promise<EvalView> {
    let last: EvalView | undefined;
    const look = async (): Promise<EvalView | undefined> => {
      last = await read(id).catch(() => last);
      return last !== undefined && states.includes(last.state) ? last : undefined;
    };
    try {
      return await until(look, { timeoutMs: 120_000, everyMs: 100, what: "the eval" });
    } catch (error) {
      throw new Error(`${String(error)}; last seen: ${JSON.stringify(last)}`, { cause: error });
    }
  }

  async function rows(id: string): Promise<readonly LogRow[]> {
    const path = `/v1/evals/${id}/results?page_size=1000`;
    return (await mesh.api.call<{ results: LogRow[] }>("GET", path, undefined, { accept: "application/json" })).results;
  }

  test("each unit has one result, both devices take part, and the log is numbered without gaps", async () => {
    const { id } = await create({ settings: { runs: 2 } });
    const { counts, nodes } = await ended(id);
    expect(counts).toMatchObject({ total: 40, passed: 40 - 2 * WRONG, failed: 2 * WRONG });
    const log = await rows(id);
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_row, index) => index + 1));
    const counted = log.filter(({ observation }) => !observation);
    expect(new Set(counted.map((row) => `${row.case_id} ${row.run}`)).size).toBe(40);
    expect(counted).toHaveLength(40);
    expect(new Set(counted.map(({ node }) => node))).toEqual(new Set(["alpha", "beta"]));
    expect(counted.every(({ node, result }) => result.device === node)).toBe(true);
    expect(nodes.reduce((sum, node) => sum + node.passed, 0)).toBe(40 - 2 * WRONG);
  });

  test("placed on each, every unit runs on every device", async () => {
    const { id } = await create({ placement: { mode: "each" }, cases: CASES.slice(0, 4) });
    expect((await ended(id)).counts).toMatchObject({ total: 8, passed: 8 });
    const seen = (await rows(id)).filter(({ observation }) => !observation).map((row) => `${row.case_id} ${row.node}`);
    expect(new Set(seen).size).toBe(8);
  });

  test("a cancelled eval keeps its results, and goes on where it stopped", async () => {
    const { id } = await create({ cases: suiteCases(60, 400) });
    await until(async () => (await read(id)).last_seq > 0, { timeoutMs: 30_000, what: "a first result" });
    await mesh.api.call("POST", `/v1/evals/${id}/cancel`, {});
    const stopped = await ended(id, ["cancelled"]);
    const before = await rows(id);
    expect(before.length).toBeGreaterThan(0);
    expect(before.length).toBeLessThan(60);
    expect(stopped.counts["total"]).toBe(60);
    await mesh.api.call("POST", `/v1/evals/${id}/resume`, {});
    await ended(id);
    const after = await rows(id);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(new Set(after.filter((row) => !row.observation).map((row) => row.case_id)).size).toBe(60);
  });

  test("a coordinator and a device that are killed in the middle cost no result", async () => {
    const { id } = await create({ cases: suiteCases(60, 400), settings: { retries: 5 } });
    await until(async () => (await read(id)).last_seq > 3, { timeoutMs: 30_000, what: "first results" });
    await mesh.coordinators[0]?.kill();
    await mesh.node("beta").process.kill();
    await mesh.restartCoordinator();
    await mesh.node("beta").process.start();
    const { counts } = await ended(id);
    expect(counts).toMatchObject({ total: 60, passed: 54, failed: 6 });
    const counted = (await rows(id)).filter(({ observation }) => !observation);
    expect(new Set(counted.map(({ case_id }) => case_id)).size).toBe(60);
    expect(counted).toHaveLength(60);
  });

  test("what cannot run is refused with what to do", async () => {
    const twice = await refusalOf(create({ cases: [CASES[0], CASES[0]] }));
    expect(twice.status).toBe(400);
    expect(twice.problem.detail).toContain("case-0");
    const odd = await refusalOf(create({ cases: [{ id: "a", input: "x", asert: {} }] }));
    expect(odd.problem.detail).toContain("asert");
    const nobody = await refusalOf(create({ assistant: "nobody" }));
    expect(nobody.status).toBe(404);
  });
});
