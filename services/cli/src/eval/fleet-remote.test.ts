/** Sending an eval to a coordinator, at the wire. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { casesOf, type RemoteSuite } from "@mesh/eval/local";
import { systemClock, systemIds } from "@mesh/kernel";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { Cli } from "../cli.ts";
import { Client } from "../client/client.ts";
import { StubGateway } from "../testing/stub-gateway.ts";
import { followResults } from "./eval-follow.ts";
import { type FleetOptions, fleetRemote } from "./fleet-remote.ts";

const ID = "eval_00000000000000000000000001";
const EVAL = { id: ID, state: "running", cases: 2, suite: "s", counts: { total: 4 }, settings: { runs: 1 } };

let gateway: StubGateway;
let root: string;
let said: string[] = [];

beforeEach(async () => {
  gateway = await new StubGateway().start();
  root = mkdtempSync(join(tmpdir(), "yao-fleet-"));
  mkdirSync(join(root, "assistants/a"), { recursive: true });
  writeFileSync(join(root, "assistants/a/package.yao"), '{"name":"A"}');
  said = [];
});
afterEach(async () => {
  await gateway.stop();
  rmSync(root, { recursive: true, force: true });
});

function options(): FleetOptions {
  const terminal = { progress: (text: string) => said.push(text) };
  const cli = { terminal, clock: systemClock, ids: systemIds() } as unknown as Cli;
  return {
    cli,
    client: new Client(systemClock, { url: gateway.url, token: "t" }),
    workspace: "default",
    placement: { mode: "each", copies: 0, max_nodes: 0, nodes: [], labels: {} },
    settings: { runs: 1 },
    runs: 1,
    name: "cases.jsonl",
    isDetached: false,
    signal: new AbortController().signal,
    onPlan: () => undefined,
    onStart: () => undefined,
    onEval: () => undefined,
  };
}

const suiteOf = (...inputs: readonly string[]): RemoteSuite => ({
  agentId: "a",
  root,
  baseDir: root,
  cases: casesOf(
    inputs.map((input, n) => ({ id: `c${n}`, input })),
    "test",
  ).cases,
});

/** A coordinator that has the bundle once it was pushed. */
function serve(about: { readonly hasBundle: boolean }): void {
  let { hasBundle } = about;
  gateway.route("POST", "/v1/evals", () => {
    const missing = { code: "not_found", detail: "no bundle", details: { reason: "unknown_bundle" } };
    return hasBundle ? { json: { eval: EVAL } } : { status: 404, json: missing };
  });
  gateway.route("POST", "/v1/workspaces/default/evals/bundles", () => {
    hasBundle = true;
    return { json: { digest: "d" } };
  });
  gateway.route("POST", `/v1/evals/${ID}/start`, () => ({ json: { eval: EVAL } }));
}

describe("sending an eval", () => {
  test("F1 pushes the bundle only where it is not there, and says on how many devices each run is made", async () => {
    serve({ hasBundle: false });
    gateway.route("POST", `/v1/evals/${ID}/cases`, () => ({ json: { cases: 2 } }));
    const remote = fleetRemote(options());
    expect(await remote.begin(suiteOf("x", "y"))).toEqual({ evalId: ID, suite: "s", copies: 2 });
    await remote.begin(suiteOf("x", "y"));
    expect(gateway.requests("POST", "/v1/workspaces/default/evals/bundles")).toHaveLength(1);
    const [create, again] = gateway.requests("POST", "/v1/evals");
    expect(create?.headers["idempotency-key"]).toBe(again?.headers["idempotency-key"]);
    expect(JSON.parse(create?.body ?? "")).toMatchObject({
      workspace: "default",
      assistant: "a",
      draft: true,
      bundle_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      placement: { mode: "each" },
    });
    const [cases] = gateway.requests("POST", `/v1/evals/${ID}/cases`);
    expect(JSON.parse(cases?.body ?? "")).toEqual({
      at: 0,
      cases: [
        { id: "c0", input: "x" },
        { id: "c1", input: "y" },
      ],
    });
  });

  test("F2 many cases go in pieces to their positions, and again when the coordinator was away", async () => {
    serve({ hasBundle: true });
    let failures = 1;
    gateway.route("POST", `/v1/evals/${ID}/cases`, () => {
      failures -= 1;
      return failures >= 0
        ? { status: 503, json: { code: "unavailable", detail: "starting" } }
        : { json: { cases: 1 } };
    });
    const text = "x".repeat(900_000);
    await fleetRemote(options()).begin(suiteOf(...Array.from({ length: 8 }, () => text)));
    const sent = gateway.requests("POST", `/v1/evals/${ID}/cases`).map(({ body }) => {
      const { at, cases } = JSON.parse(body) as { readonly at: number; readonly cases: readonly unknown[] };
      return [at, cases.length];
    });
    expect(sent).toEqual([
      [0, 3],
      [0, 3],
      [3, 3],
      [6, 2],
    ]);
    expect(said.join()).toContain("trying again");
  });

  test("a case that is too long for devices is refused before anything is sent", async () => {
    await expect(fleetRemote(options()).begin(suiteOf("x".repeat(1_100_000)))).rejects.toMatchObject({
      code: "resource_exhausted",
      message: expect.stringContaining("case c0 has"),
    });
    expect(gateway.seen).toEqual([]);
  });

  test("what the coordinator refuses for another reason is told, and no bundle is pushed", async () => {
    gateway.route("POST", "/v1/evals", () => ({
      status: 404,
      json: { code: "not_found", detail: 'this workspace has no device "x"' },
    }));
    await expect(fleetRemote(options()).begin(suiteOf("x"))).rejects.toThrow('no device "x"');
    expect(gateway.seen).toHaveLength(1);
  });
});

describe("following an eval", () => {
  let server: Server;
  let cursors: (string | undefined)[] = [];

  beforeEach(() => {
    cursors = [];
  });
  afterEach(() => server.close());

  const result = (seq: number, more: object = {}): string => {
    const whole = { id: "c0", run: 1, status: "passed", input: "", output: "", duration_ms: 1, hash: "h" };
    const data = {
      seq,
      kind: "result",
      ordinal: 0,
      copy: 1,
      node: "alpha",
      observation: false,
      result: whole,
      ...more,
    };
    return `id: ${seq}\nevent: result\ndata: ${JSON.stringify(data)}\n\n`;
  };
  const state = (seq: number, name: string): string =>
    `id: ${seq}\nevent: eval\ndata: ${JSON.stringify({ seq, kind: "eval", state: name })}\n\n`;

  async function listen(...answers: readonly string[]): Promise<Client> {
    server = createServer((request, response) => {
      cursors.push(request.headers["last-event-id"] as string | undefined);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(answers[cursors.length - 1] ?? "event: end\ndata: {}\n\n");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Client(systemClock, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  }

  test("gives each result that counts once, with its device, across a lost connection; states are told each time", async () => {
    const client = await listen(
      `${state(0, "running")}${result(1)}${result(2, { observation: true })}`,
      `${state(2, "running")}${result(2)}${result(3, { copy: 2, node: "beta" })}${state(3, "ended")}event: end\ndata: {}\n\n`,
    );
    const states: string[] = [];
    const got: object[] = [];
    const followed = followResults({
      client,
      clock: systemClock,
      id: ID,
      signal: new AbortController().signal,
      isPatient: true,
      onEval: (each) => states.push(each.state),
    });
    for await (const each of followed) got.push(each);
    expect(got).toEqual([
      { ordinal: 0, result: expect.objectContaining({ device: "alpha" }) },
      { ordinal: 0, result: expect.objectContaining({ device: "beta", copy: 2 }) },
    ]);
    expect(states).toEqual(["running", "running", "ended"]);
    expect(cursors).toEqual([undefined, "2"]);
  });
});
