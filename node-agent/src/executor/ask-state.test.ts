import { MeshError } from "@mesh/kernel";
import { WorkspaceStateAnswer, WorkspaceStateRequest } from "@mesh/proto/wire";
import { expect, test } from "vitest";

import type { RunLog } from "../journal/run-log.ts";
import type { StateQuestion } from "../runner/protocol.ts";
import { askState } from "./ask-state.ts";

type Answer = string | MeshError;

function linkOf(answer: Answer): { readonly asked: string[]; readonly ask: typeof ask; readonly askOnce: typeof ask } {
  const asked: string[] = [];
  const give = async (way: string, data: Uint8Array): Promise<Uint8Array> => {
    asked.push(`${way} ${WorkspaceStateRequest.decode(data).args_json}`);
    if (answer instanceof MeshError) throw answer;
    return WorkspaceStateAnswer.encode({ result_json: answer }).finish();
  };
  return {
    asked,
    ask: (_method, data) => give("again", data),
    askOnce: (_method, data) => give("once", data),
  };
}

declare function ask(method: string, data: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;

const { signal } = new AbortController();
const RUN = { runId: "run_1", epoch: 1 } as RunLog;

function question(method: string, ...args: StateQuestion["args"]): StateQuestion {
  return { service: "memory", method, args };
}

test("what changes nothing is asked until it is answered, what changes something once", async () => {
  const link = linkOf("5");
  expect(await askState(RUN, question("Get", "user", "k"), link, signal)).toBe(5);
  expect(await askState(RUN, question("Incr", "user", "k"), link, signal)).toBe(5);
  expect(link.asked).toEqual(['again ["user","k"]', 'once ["user","k"]']);
});

test("nothing and null are different answers", async () => {
  expect(await askState(RUN, question("Set"), linkOf(""), signal)).toBeUndefined();
  expect(await askState(RUN, question("Get"), linkOf("null"), signal)).toBeNull();
});

test("a lost answer to a change says that nobody knows; a refusal is told as it is", async () => {
  const lost = linkOf(new MeshError("deadline_exceeded", "no answer in time"));
  await expect(askState(RUN, question("Incr"), lost, signal)).rejects.toThrow("whether it was done is not known");
  const refused = linkOf(new MeshError("invalid_argument", "a key must be"));
  await expect(askState(RUN, question("Incr"), refused, signal)).rejects.toThrow("a key must be");
});

test("more than a message of the bus holds is refused before it is sent", async () => {
  const link = linkOf("");
  const big = question("Set", "user", "k", "é".repeat(500_000));
  await expect(askState(RUN, big, link, signal)).rejects.toThrow("at a time");
  expect(link.asked).toEqual([]);
});
