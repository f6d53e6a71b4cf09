/** Named stores of scripts, kept by the state of the workspace: each operation is one method of its memory, or some in a row. */

import type { Json } from "@mesh/kernel";
import type { StoreOperation, StorePort } from "@mesh/scripts";

import type { StatePort } from "../state-port.ts";

/** The stores of a run. */
export function stateStores(state: StatePort): StorePort {
  return {
    async call(_scope, { store, ...operation }, signal) {
      const ask: Ask = async (method, ...args) => (await state.call("store", method, [store, ...args], signal)) ?? null;
      return answer(operation, ask);
    },
  };
}

type Ask = (method: string, ...args: readonly Json[]) => Promise<Json>;

async function answer(operation: StoreOperation, ask: Ask): Promise<Json> {
  switch (operation.op) {
    case "getMulti":
    case "setMulti":
    case "delMulti":
      return several(operation, ask);
    case "keys":
      return ask("Keys");
    case "len":
      return ask("Len");
    case "clear":
      return ask("Clear");
    case "set":
      return ask("Set", operation.key, operation.value, secondsOf(operation.ttlMs));
    case "get":
    case "getDel":
    case "has":
    case "del":
      return ask(METHODS[operation.op], operation.key);
    default:
      return inList(operation, ask);
  }
}

const METHODS = { get: "Get", getDel: "GetDel", has: "Has", del: "Del" } as const;

type Several = Extract<StoreOperation, { readonly op: "getMulti" | "setMulti" | "delMulti" }>;

async function several(operation: Several, ask: Ask): Promise<Json> {
  if (operation.op === "setMulti") {
    for (const [key, value] of Object.entries(operation.values))
      await ask("Set", key, value, secondsOf(operation.ttlMs));
    return null;
  }
  const found: [string, Json][] = [];
  for (const key of operation.keys) {
    const value = await ask(operation.op === "getMulti" ? "Get" : "Del", key);
    if (value !== null) found.push([key, value]);
  }
  return operation.op === "getMulti" ? Object.fromEntries(found) : null;
}

type InList = Exclude<
  StoreOperation,
  Several | { readonly op: "keys" | "len" | "clear" | "set" | keyof typeof METHODS }
>;

function inList(operation: InList, ask: Ask): Promise<Json> {
  switch (operation.op) {
    case "incr":
      return ask("Incr", operation.key, operation.by);
    case "push":
      return ask("Push", operation.key, operation.values);
    case "addToSet":
      return ask("AddToSet", operation.key, operation.values);
    case "pop":
      return ask("Pop", operation.key, operation.end === "first" ? -1 : 1);
    case "pull":
      return ask("Remove", operation.key, operation.values);
    case "arrayLen":
      return ask("ArrayLen", operation.key);
    case "arrayAll":
      return ask("ArrayAll", operation.key);
    case "arrayGet":
      return ask("ArrayGet", operation.key, operation.index);
    case "arraySet":
      return ask("ArraySet", operation.key, operation.index, operation.value);
    case "arraySlice":
      return ask("ArraySlice", operation.key, operation.skip, operation.skip + operation.limit);
  }
}

function secondsOf(ttlMs: number | undefined): Json {
  return ttlMs === undefined ? null : ttlMs / 1000;
}
