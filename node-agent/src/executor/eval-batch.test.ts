import { MeshError } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import type { EvalBatchPart } from "@mesh/proto";
import { EvalPermitAnswer, EvalPermitRequest, WorkItem } from "@mesh/proto/wire";
import { expect, test } from "vitest";

import { RunLog } from "../journal/run-log.ts";
import { askPermit, fetchEvalBatch } from "./eval-batch.ts";

const RUN = new RunLog({ runId: "run_1", epoch: 3 }, WorkItem.decode(new Uint8Array()));
const NEVER = new AbortController().signal;

test("parts become one text", async () => {
  const parts = ["one ", "two ", "three"];
  const asked: number[] = [];
  const text = await fetchEvalBatch((part) => {
    asked.push(part);
    return Promise.resolve({ parts: parts.length, body: parts[part] ?? "" });
  });
  expect([text, asked]).toEqual(["one two three", [0, 1, 2]]);
});

test("a batch without end is not taken", async () => {
  const endless = (): Promise<EvalBatchPart> => Promise.resolve({ parts: 4_000, body: "x".repeat(1024 * 1024) });
  await expect(fetchEvalBatch(endless)).rejects.toMatchObject({ code: "resource_exhausted" });
  const many = (): Promise<EvalBatchPart> => Promise.resolve({ parts: 4_000_000_000, body: "" });
  await expect(fetchEvalBatch(many)).rejects.toMatchObject({ code: "resource_exhausted" });
});

test("a permit is asked for by the run that has the lease", async () => {
  const seen: unknown[] = [];
  const link = {
    ask: (method: string, data: Uint8Array): Promise<Uint8Array> => {
      seen.push([method, EvalPermitRequest.decode(data)]);
      return Promise.resolve(EvalPermitAnswer.encode({ granted: 2, wait_ms: 0 }).finish());
    },
  };
  const question = { provider: "host", calls: 4, slowDownMs: 0 };
  const answer = await askPermit(RUN, question, { link, clock: new FakeClock() }, NEVER);
  expect(answer).toEqual({ granted: 2, waitMs: 0 });
  const request = { run_id: "run_1", epoch: 3, provider: "host", calls: 4, slow_down_ms: 0 };
  expect(seen).toEqual([["eval_permit", request]]);
});

test("a coordinator that does not answer is unavailable after a while; a batch that is stopped asks no more", async () => {
  const clock = new FakeClock();
  const link = {
    ask: (_method: string, _data: Uint8Array, signal: AbortSignal): Promise<Uint8Array> =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new MeshError("cancelled", "aborted")));
      }),
  };
  const question = { provider: "host", calls: 1, slowDownMs: 0 };
  const late = askPermit(RUN, question, { link, clock }, NEVER);
  const failed = expect(late).rejects.toMatchObject({ code: "unavailable" });
  await clock.advance(5_000);
  await failed;
  const stop = new AbortController();
  const stopped = askPermit(RUN, question, { link, clock }, stop.signal);
  stop.abort();
  await expect(stopped).rejects.toMatchObject({ code: "cancelled" });
});
