/** Public reports about what is sent: overflows that compaction does not cure, ids, signatures. */

import { isObject, type JsonObject } from "@mesh/kernel";

import { broken, type Scenario, type StageTool } from "./scenario.ts";
import { chatCalls, chatOverflow, messages, responses } from "./script.ts";

const long: StageTool = { name: "read", run: () => "a line of a long file\n".repeat(150) };
const MAX_COMPACTIONS = 3;

/** The rows. */
export const REQUEST_SCENARIOS: readonly Scenario[] = [
  {
    row: 23,
    name: "compaction-in-vain",
    title: "an overflow that compaction does not cure: one attempt, then the error",
    protocol: "openai-completions",
    needs: ["compaction"],
    answers: [chatCalls([{ id: "call_a", name: "read" }]), chatOverflow],
    async play(stage) {
      const session = stage.open({ tools: [long] });
      return { session, ends: [await session.prompt("go")], facts: session.compactions() };
    },
    judge: ({ ends, requests, facts }) =>
      broken({
        "it ends as failed": ends[0]?.kind === "failed",
        "the failure says why": ends[0]?.error?.includes("8192") === true,
        "it is compacted once": facts["done"] === 1,
        "the request is repeated once at most": requests.length <= 3,
      }),
  },
  {
    row: 25,
    name: "endless-compaction",
    title: "an overflow after every call: compactions are capped, each of them is told",
    protocol: "openai-completions",
    needs: ["compaction"],
    answers: Array.from({ length: 20 }, (_unused, turn) => [
      chatCalls([{ id: `call_${turn}`, name: "read", args: { turn } }]),
      chatOverflow,
    ]).flat(),
    async play(stage) {
      const session = stage.open({ tools: [long] });
      return { session, ends: [await session.prompt("go")], facts: session.compactions() };
    },
    judge: ({ ends, requests, facts }) =>
      broken({
        "it ends as failed": ends[0]?.kind === "failed",
        "compactions are capped": Number(facts["done"]) <= MAX_COMPACTIONS,
        "it compacts at all": Number(facts["done"]) > 0,
        "each is told": facts["told"] === facts["done"],
        "requests are bounded": requests.length <= 3 * MAX_COMPACTIONS + 2,
      }),
  },
  {
    row: 13,
    name: "item-ids",
    title: "over turns of the Responses API each item id is sent at most once, and no stateful id beside the history",
    protocol: "openai-responses",
    needs: [],
    answers: [
      responses(1, [
        { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "ZW5jMQ==" },
        { type: "function_call", id: "fc_1", call_id: "call_a", name: "act", arguments: "{}" },
      ]),
      responses(2, [said("msg_2", "done")]),
      responses(3, [said("msg_3", "still done")]),
    ],
    async play(stage) {
      const session = stage.open({ tools: [{ name: "act", run: () => (stage.did("act"), "ok") }] });
      return { session, ends: [await session.prompt("go"), await session.prompt("go on")] };
    },
    judge: ({ ends, requests, done }) =>
      broken({
        "both prompts are answered": ends.every((end) => end.kind === "completed"),
        "the call is run once": done.join() === "act",
        "no item id is sent twice in a request": requests.every((body) => isUnique(itemIds(body))),
        "no stateful id is sent beside the history": requests.every(
          (body) => body["previous_response_id"] === undefined,
        ),
        "the reasoning goes back": requests.slice(1).every((body) => itemIds(body).includes("rs_1")),
        "reasoning stands before its call": requests.every((body) => keepsReasoning(body)),
      }),
  },
  {
    row: 26,
    name: "signed-thinking",
    title: "signed thinking goes back whole to the model that made it, and not at all to another",
    protocol: "anthropic-messages",
    needs: ["switchModel"],
    answers: [
      messages([
        { kind: "thinking", thinking: "the user wants it done", signature: "c2lnbmF0dXJl" },
        { kind: "call", call: { id: "toolu_a", name: "act" } },
      ]),
      messages([{ kind: "text", text: "done" }]),
      messages([{ kind: "text", text: "done by another" }]),
    ],
    async play(stage) {
      const session = stage.open({ tools: [{ name: "act", run: () => "ok" }] });
      const first = await session.prompt("go");
      session.switchModel("another-model");
      return { session, ends: [first, await session.prompt("go on")] };
    },
    judge: ({ ends, requests }) => {
      const [, own = {}, foreign] = requests;
      const block = '{"type":"thinking","thinking":"the user wants it done","signature":"c2lnbmF0dXJl"}';
      const sent = JSON.stringify(foreign ?? {});
      return broken({
        "both prompts are answered": ends.every((end) => end.kind === "completed"),
        "the same model gets the block byte for byte": JSON.stringify(own).includes(block),
        "the other model is asked": foreign?.["model"] === "another-model",
        "the other model gets neither the thinking nor the signature": !/c2lnbmF0dXJl|"type":"thinking"/.test(sent),
      });
    },
  },
];

function said(id: string, text: string): object {
  return { type: "message", id, role: "assistant", content: [{ type: "output_text", text, annotations: [] }] };
}

function items(body: JsonObject): readonly JsonObject[] {
  const { input } = body;
  return Array.isArray(input) ? (input as readonly unknown[]).filter((item): item is JsonObject => isObject(item)) : [];
}

function itemIds(body: JsonObject): readonly unknown[] {
  return items(body).flatMap((item) => (item["id"] === undefined ? [] : [item["id"]]));
}

function isUnique(ids: readonly unknown[]): boolean {
  return new Set(ids).size === ids.length;
}

/** A reasoning item that was kept is followed by what it led to; alone it would be refused. */
function keepsReasoning(body: JsonObject): boolean {
  return items(body).every((item, index, all) => {
    if (item["type"] !== "reasoning") return true;
    const next = all[index + 1];
    return next?.["type"] === "function_call" || next?.["role"] === "assistant";
  });
}
