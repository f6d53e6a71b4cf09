/** EvalService over a real database: what is created, refused, read and followed. */

import { createHash } from "node:crypto";

import { bundleApp } from "@mesh/assistants";
import { loadCases } from "@mesh/eval";
import { Doorbell, MeshError, systemClock } from "@mesh/kernel";
import {
  CreateEvalRequest,
  type Eval,
  type FollowEvalResponse,
  ListEvalResultsRequest,
  ListEvalsRequest,
} from "@mesh/proto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Caller } from "../auth/caller.ts";
import { refusal, startTenant, type Tenant } from "../auth/testing/tenant.ts";
import type { EvalApi } from "../gateway/api/eval.ts";
import type { Call } from "../gateway/operation.ts";
import { createEvalApi } from "./eval-api.ts";

let tenant: Tenant;
let api: EvalApi;
let admin: Call;
let bell: Doorbell;
let pokes = 0;
let opened = 0;
let devices = 0;

const bundleOf = (id: string): Buffer =>
  Buffer.from(
    bundleApp(new Map([[`assistants/${id}/package.yao`, Buffer.from(`{"name":"${id}","connector":"demo"}`)]])).bytes,
  );
const MANY = Array.from({ length: 10_001 }, (_none, n) => ({ id: `c${n}`, input: "hi" }));
const CASES = [
  { id: "one", input: "hi", assert: [{ type: "contains", value: "hi" }] },
  { id: "two", input: "ho" },
];

beforeAll(async () => {
  tenant = await startTenant();
  admin = tenant.as(tenant.admin);
  bell = new Doorbell(systemClock);
  for (const name of ["home", "other"]) await tenant.workspaces.createWorkspace({ name }, admin);
  await tenant.apps.pushApp({ workspace: "home", app: "x", bundle: bundleOf("x"), reset_models: false }, admin);
  api = createEvalApi({
    ...tenant,
    clock: systemClock,
    changed: () => {
      pokes += 1;
      bell.ring();
    },
    tail: {
      open: () => {
        opened += 1;
        return {
          next: async (signal) => void (await bell.wait(signal, 1000)),
          close: () => {
            opened -= 1;
          },
        };
      },
    },
  });
});

afterAll(() => tenant?.[Symbol.asyncDispose]());

const wish = (more: Parameters<typeof CreateEvalRequest.fromPartial>[0] = {}): CreateEvalRequest =>
  CreateEvalRequest.fromPartial({ workspace: "home", assistant: "x", cases: CASES, ...more });

async function made(more: Parameters<typeof wish>[0] = {}, call = admin): Promise<Eval> {
  const { eval: created } = await api.createEval(wish(more), call);
  if (created === undefined) throw new MeshError("internal", "no eval");
  return created;
}

async function addDevice(name: string): Promise<string> {
  devices += 1;
  const id = `node_${String(devices).padStart(26, "0")}`;
  const { sql } = tenant.store;
  await sql`
    INSERT INTO nodes (id, nkey, digest, name, facts, slots)
    VALUES (${id}, ${`U${devices}`}, ${`d${devices}`}, ${name}, '{"os": "linux", "arch": "x64"}', 4)`;
  await sql`INSERT INTO node_liveness (node_id, boot_id, hb_seq, seen_at) VALUES (${id}, 'b', 1, now())`;
  return id;
}

interface Logged {
  readonly seq: number;
  readonly ordinal: number;
  readonly status: string;
  readonly node: string;
  readonly observation?: boolean;
  readonly result?: object;
}

async function log(
  evalId: string,
  { seq, ordinal, status, node, observation = false, result = {} }: Logged,
): Promise<void> {
  const { sql } = tenant.store;
  const caseId = CASES[ordinal]?.id ?? "";
  const text = JSON.stringify({ id: caseId, run: 1, status, ...result });
  await sql.begin(async (tx) => {
    await tx`
      INSERT INTO eval_results (eval_id, seq, ordinal, run, copy, case_id, status, node_id, run_id, observation, duration_ms, result)
      VALUES (${evalId}, ${seq}, ${ordinal}, 1, 1, ${caseId}, ${status}, ${node}, 'run_x', ${observation}, 12, ${text})`;
    await tx`UPDATE evals SET last_seq = ${seq} WHERE id = ${evalId}`;
  });
  bell.ring();
}

async function end(evalId: string, state = "ended"): Promise<void> {
  await tenant.store.sql`UPDATE evals SET state = ${state}, phase = 'over', finished_at = now() WHERE id = ${evalId}`;
  bell.ring();
}

async function follow(evalId: string, afterSeq: number, call = admin): Promise<readonly FollowEvalResponse[]> {
  const events: FollowEvalResponse[] = [];
  for await (const event of api.followEval({ eval: evalId, after_seq: afterSeq, brief: false }, call))
    events.push(event);
  return events;
}

const results = (
  request: Parameters<typeof ListEvalResultsRequest.fromPartial>[0],
): ReturnType<EvalApi["listEvalResults"]> => api.listEvalResults(ListEvalResultsRequest.fromPartial(request), admin);

describe("creating", () => {
  test("W2 starts an eval of the workspace's app whole: cases, units, settings with their defaults, audit", async () => {
    const before = pokes;
    const created = await made({ settings: { runs: 3 }, name: "nightly" });
    expect(created).toMatchObject({
      state: "running",
      app: "x",
      assistant: "x",
      name: "nightly",
      cases: 2,
      reason: expect.stringContaining("waiting for a device"),
      counts: { total: 6, passed: 0, running: 0 },
      settings: { runs: 3, parallel: 1, timeout_ms: 120_000, retries: 2, duplicate_stragglers: true },
      placement: { mode: "spread", copies: 1 },
      created_by: "user:admin",
    });
    expect(pokes).toBe(before + 1);
    const audit = await tenant.store.sql`SELECT action FROM audit WHERE object = ${created.id}`;
    expect(audit.map((row) => row["action"])).toEqual(["eval.create"]);
    expect((await api.listEvalCases({ eval: created.id, at: 1, page_size: 5 }, admin)).cases).toEqual([CASES[1]]);
  });

  test("gives the suite the digest that a local eval of the same cases has", async () => {
    const { cases } = loadCases(CASES.map((each) => JSON.stringify(each)).join("\n"), "f");
    const suite = createHash("sha256");
    for (const { id, hash } of cases) suite.update(`${id}\u0000${hash}\n`);
    expect((await made()).suite).toBe(suite.digest("hex").slice(0, 16));
  });

  test("C1 refuses cases that cannot be read with their positions, all at once, and keeps nothing", async () => {
    const cases = [{ id: "a", input: "x" }, { id: "b" }, { id: "a", input: "y", surprise: 1 }];
    const failure = await api.createEval(wish({ cases }), admin).catch((error: unknown) => MeshError.from(error));
    const errors = (failure as MeshError).details?.["errors"] as { readonly field: string; readonly message: string }[];
    expect(errors.map(({ field }) => field)).toEqual(["cases.1", "cases.2"]);
    expect(errors[1]?.message).toContain("surprise");
    const twice = await refusal(api.createEval(wish({ cases: [CASES[0]!, CASES[0]!] }), admin));
    expect(twice).toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining('the id "one" is taken'),
    });
    const rows = await tenant.store.sql`SELECT 1 FROM eval_cases WHERE case_id IN ('a', 'b')`;
    expect(rows).toHaveLength(0);
  });

  test.each([
    ["no cases", { cases: [] }, /cases is required/],
    ["a mirror on one device", { placement: { mode: "mirror", copies: 1 } }, /2 to 16/],
    ["more than 1,000,000 units", { cases: MANY, settings: { runs: 100 } }, /10001 cases in 100 runs are 1000100/],
    ["copies of a spread", { placement: { copies: 2 } }, /goes with the mode mirror/],
    ["a device nobody knows", { placement: { nodes: ["nowhere"] } }, /no device "nowhere"/],
    ["an assistant nobody knows", { assistant: "y" }, /assistant "y" was not found/],
    ["a context with an odd field", { settings: { context: { color: 1 } } }, /settings\.context\.color/],
  ] as const)("refuses %s", async (_what, more, message) => {
    expect((await refusal(api.createEval(wish(more as Parameters<typeof wish>[0]), admin))).message).toMatch(message);
  });

  test("under one key makes one eval, and refuses another request under it", async () => {
    const first = await made({ idempotency_key: "k" });
    expect((await made({ idempotency_key: "k" })).id).toBe(first.id);
    expect(await refusal(api.createEval(wish({ idempotency_key: "k", name: "z" }), admin))).toMatchObject({
      code: "already_exists",
    });
  });

  test("U1 takes a bundle that was pushed for evals, and of no other workspace", async () => {
    const digest = createHash("sha256").update(bundleOf("solo")).digest("hex");
    const wanted = { assistant: "solo", bundle_digest: digest };
    const missing = await api.createEval(wish(wanted), admin).catch((error: unknown) => MeshError.from(error));
    expect(missing).toMatchObject({ code: "not_found", details: { reason: "unknown_bundle" } });
    const pushed = await api.pushEvalBundle({ workspace: "home", bundle: bundleOf("solo") }, admin);
    expect(pushed).toMatchObject({ digest, assistants: ["solo"] });
    expect(await api.pushEvalBundle({ workspace: "home", bundle: bundleOf("solo") }, admin)).toEqual(pushed);
    expect(await made(wanted)).toMatchObject({ app: "", bundle_digest: digest });
    expect(await refusal(api.createEval(wish({ ...wanted, assistant: "x" }), admin))).toMatchObject({
      message: 'the bundle has no assistant "x"; it has solo',
    });
    expect(await refusal(api.createEval(wish({ ...wanted, workspace: "other" }), admin))).toMatchObject({
      code: "not_found",
    });
    expect((await tenant.apps.listApps({ workspace: "home" }, admin)).apps.map(({ name }) => name)).toEqual(["x"]);
    const broken = bundleApp(new Map([["assistants/b/package.yao", Buffer.from("{")]])).bytes;
    expect(await refusal(api.pushEvalBundle({ workspace: "home", bundle: Buffer.from(broken) }, admin))).toMatchObject({
      code: "invalid_argument",
    });
  });
});

describe("a draft", () => {
  test("C2 takes cases by position: again is harmless, another one and a gap are refused; then it is started once", async () => {
    const draft = await made({ cases: [], draft: true });
    expect(draft).toMatchObject({ state: "draft", cases: 0 });
    const add = (at: number, cases: object[]): ReturnType<EvalApi["addEvalCases"]> =>
      api.addEvalCases({ eval: draft.id, at, cases: cases as never }, admin);
    expect((await refusal(api.startEval({ eval: draft.id }, admin))).message).toContain("has no cases");
    expect(await add(0, [CASES[0]!])).toEqual({ cases: 1 });
    expect(await add(0, CASES)).toEqual({ cases: 2 });
    expect((await refusal(add(0, [{ id: "one", input: "other" }]))).message).toBe(
      "cases.0 another case stands at this position",
    );
    expect((await refusal(add(2, [{ id: "one", input: "hi" }]))).message).toBe(
      'cases.2 the id "one" is taken: position 0 has it too',
    );
    expect(await refusal(add(5, [{ id: "x", input: "hi" }]))).toMatchObject({ code: "failed_precondition" });
    expect((await api.startEval({ eval: draft.id }, admin)).eval).toMatchObject({ state: "running", cases: 2 });
    expect((await api.startEval({ eval: draft.id }, admin)).eval).toMatchObject({ counts: { total: 2 } });
    expect((await refusal(add(2, [{ id: "x", input: "hi" }]))).message).toContain("is no draft any more");
    const audit = await tenant.store.sql`SELECT action FROM audit WHERE object = ${draft.id} ORDER BY id`;
    expect(audit.map((row) => row["action"])).toEqual(["eval.create", "eval.start"]);
  });

  test("that was cancelled can be gone on with: it starts then", async () => {
    const draft = await made({ draft: true });
    await api.cancelEval({ eval: draft.id }, admin);
    const { eval: resumed } = await api.resumeEval({ eval: draft.id, retry_errors: false }, admin);
    expect(resumed).toMatchObject({ state: "running", counts: { total: 2 }, suite: (await made()).suite });
  });

  test("can be cancelled and removed; a running one cannot be removed", async () => {
    const draft = await made({ cases: [], draft: true });
    expect((await api.cancelEval({ eval: draft.id }, admin)).eval).toMatchObject({
      state: "cancelled",
      reason: "cancelled by admin",
    });
    await api.removeEval({ eval: draft.id }, admin);
    expect(await refusal(api.getEval({ eval: draft.id }, admin))).toMatchObject({ code: "not_found" });
    const running = await made();
    expect((await refusal(api.removeEval({ eval: running.id }, admin))).message).toContain("cancel it first");
  });
});

describe("reading", () => {
  test("plans say of each device whether it would take part, and why not", async () => {
    await addDevice("planned");
    const plan = await api.planEval(
      {
        workspace: "home",
        placement: { mode: "each", copies: 0, max_nodes: 0, nodes: [], labels: { gpu: "yes" } },
        cases: 3,
        runs: 2,
      },
      admin,
    );
    expect(plan.nodes).toEqual([
      expect.objectContaining({ name: "planned", state: "unfit", reason: "label gpu=yes missing", slots: 4 }),
    ]);
    expect(plan.units).toBe(0);
    const all = await api.planEval({ workspace: "home", placement: undefined, cases: 3, runs: 2 }, admin);
    expect(all).toMatchObject({ units: 6, nodes: [{ state: "active", reason: "" }] });
  });

  test("pages of the log can be filtered and made brief; devices have their part", async () => {
    const node = await addDevice("reader");
    const { id } = await made();
    const result = { input: "hi", output: "ho", trace: {}, assertions: [] };
    await log(id, { seq: 1, ordinal: 0, status: "passed", node, result });
    await log(id, { seq: 2, ordinal: 1, status: "failed", node, result });
    await log(id, { seq: 3, ordinal: 1, status: "passed", node, observation: true, result });
    await tenant.store.sql`
      INSERT INTO eval_nodes (eval_id, node_id, passed, failed, quarantined) VALUES (${id}, ${node}, 1, 1, 'odd')
      ON CONFLICT (eval_id, node_id) DO UPDATE SET passed = 1, failed = 1, quarantined = 'odd'`;
    const first = await results({ eval: id, page_size: 2 });
    expect(first.results.map(({ seq, case_id, node: name }) => [seq, case_id, name])).toEqual([
      [1, "one", "reader"],
      [2, "two", "reader"],
    ]);
    expect(first.results[0]).toMatchObject({ duration_ms: 12, copy: 1, result: { output: "ho" } });
    const rest = await results({ eval: id, after_seq: first.next_after_seq });
    expect(rest).toMatchObject({ results: [{ seq: 3, observation: true }], next_after_seq: 3 });
    expect(await results({ eval: id, after_seq: 3 })).toEqual({ results: [], next_after_seq: 0 });
    const brief = await results({ eval: id, case_id: "two", status: "failed", node: "reader", brief: true });
    expect(brief.results.map(({ result: each }) => Object.keys(each ?? {}))).toEqual([
      ["id", "run", "status", "assertions"],
    ]);
    const { eval: shown } = await api.getEval({ eval: id }, admin);
    expect(shown?.nodes.find(({ name }) => name === "reader")).toMatchObject({
      state: "quarantined",
      reason: "odd",
      passed: 1,
      failed: 1,
    });
  });

  test("lists have the newest first, by assistant and state, in pages", async () => {
    const { workspace } = await tenant.workspaces.createWorkspace({ name: "listed" }, admin);
    await tenant.apps.pushApp({ workspace: "listed", app: "x", bundle: bundleOf("x"), reset_models: false }, admin);
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) ids.unshift((await made({ workspace: "listed" })).id);
    await end(ids[1] ?? "");
    const list = (more: object): ReturnType<EvalApi["listEvals"]> =>
      api.listEvals(ListEvalsRequest.fromPartial({ workspace: workspace?.id ?? "", ...more }), admin);
    const page = await list({ page_size: 2 });
    expect(page.evals.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    const next = await list({ page_size: 2, page_token: page.next_page_token });
    expect([next.evals.map(({ id }) => id), next.next_page_token]).toEqual([ids.slice(2), ""]);
    expect((await list({ state: "ended" })).evals.map(({ id }) => id)).toEqual([ids[1]]);
    expect((await list({ assistant: "nobody" })).evals).toEqual([]);
  });
});

describe("following", () => {
  test("W3 tells results after the cursor and at last the eval as it has ended; again from there only the end", async () => {
    const node = await addDevice("followed");
    const { id } = await made();
    await log(id, { seq: 1, ordinal: 0, status: "passed", node });
    const following = follow(id, 0);
    await log(id, { seq: 2, ordinal: 1, status: "passed", node });
    await end(id);
    const events = await following;
    const seqs = events.flatMap(({ event }) => (event?.$case === "result" ? [event.value.seq] : []));
    expect(seqs).toEqual([1, 2]);
    const last = events.at(-1)?.event;
    expect(last?.$case === "eval" ? last.value.state : "").toBe("ended");
    const ends = events.filter(({ event }) => event?.$case === "eval" && event.value.state === "ended");
    expect(ends).toHaveLength(1);
    expect((await follow(id, 1)).map(({ event }) => event?.$case)).toEqual(["result", "eval"]);
    expect((await follow(id, 2)).map(({ event }) => event?.$case)).toEqual(["eval"]);
    expect(await refusal(follow(id, 3))).toMatchObject({ code: "out_of_range" });
    expect(opened).toBe(0);
  });

  test("ends when the eval is removed or the client leaves, and holds nothing", async () => {
    const { id } = await made();
    const leave = new AbortController();
    const events = api.followEval({ eval: id, after_seq: 0, brief: false }, { ...admin, signal: leave.signal });
    const iterator = events[Symbol.asyncIterator]();
    expect((await iterator.next()).value?.event?.$case).toBe("eval");
    const waiting = iterator.next();
    leave.abort();
    bell.ring();
    expect((await waiting).done).toBe(true);
    const following = follow(id, 0);
    await tenant.store.sql`DELETE FROM evals WHERE id = ${id}`;
    bell.ring();
    await following;
    expect(opened).toBe(0);
  });
});

describe("rights", () => {
  test("W1 another workspace's evals are not there, whatever is done; a viewer reads and changes nothing", async () => {
    const { id } = await made();
    const stranger = await tenant.user("stranger", ["runs", "apps"], { workspace: "other", role: "owner" });
    const viewer = await tenant.user("viewer", ["read", "runs"], { workspace: "home", role: "viewer" });
    const calls = (caller: Caller): Readonly<Record<string, () => Promise<unknown>>> => {
      const call = tenant.as(caller);
      return {
        get: () => api.getEval({ eval: id }, call),
        cases: () => api.listEvalCases({ eval: id, at: 0, page_size: 1 }, call),
        results: () => api.listEvalResults(ListEvalResultsRequest.fromPartial({ eval: id }), call),
        add: () => api.addEvalCases({ eval: id, at: 0, cases: CASES as never }, call),
        start: () => api.startEval({ eval: id }, call),
        cancel: () => api.cancelEval({ eval: id }, call),
        resume: () => api.resumeEval({ eval: id, retry_errors: false }, call),
        remove: () => api.removeEval({ eval: id }, call),
        list: () => api.listEvals(ListEvalsRequest.fromPartial({ workspace: "home" }), call),
        plan: () => api.planEval({ workspace: "home", placement: undefined, cases: 1, runs: 1 }, call),
        create: () => api.createEval(wish(), call),
        push: () => api.pushEvalBundle({ workspace: "home", bundle: bundleOf("x") }, call),
      };
    };
    for (const [name, work] of Object.entries(calls(stranger))) {
      expect([name, (await refusal(work())).code]).toEqual([name, "not_found"]);
    }
    expect((await refusal(follow(id, 0, tenant.as(stranger)))).code).toBe("not_found");
    const reading = new Set(["get", "cases", "results", "list", "plan"]);
    for (const [name, work] of Object.entries(calls(viewer))) {
      expect([name, (await refusal(work())).code]).toEqual([name, reading.has(name) ? "ok" : "permission_denied"]);
    }
    expect((await api.getEval({ eval: id }, admin)).eval).toMatchObject({ state: "running", cases: 2 });
  });

  test("a workspace that keeps assistants to its owners keeps their evals, too", async () => {
    const member = await tenant.user("member", ["read", "runs", "apps"], { workspace: "home", role: "member" });
    const { sql } = tenant.store;
    await sql`UPDATE workspaces SET settings = settings || '{"member_assistants": ["other"]}'::jsonb WHERE name = 'home'`;
    expect(await refusal(api.createEval(wish(), tenant.as(member)))).toMatchObject({ code: "permission_denied" });
    await sql`UPDATE workspaces SET settings = settings - 'member_assistants' WHERE name = 'home'`;
    expect(await made({}, tenant.as(member))).toMatchObject({ created_by: "user:member" });
  });
});
