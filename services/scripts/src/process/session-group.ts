/**
 * The group `session`: what belongs to the signed-in person rather than to a conversation.
 *
 * Facts about the caller (`user_id`, `team_id`, `chat_id`, `locale`) come from the run itself and cannot be set; all else
 * is kept in a store of that person, under a name no script can use for a store of its own.
 */

import type { Json, JsonObject } from "@mesh/kernel";

import type { ProcessArgs } from "./process-args.ts";
import type { ProcessCaller } from "./process-caller.ts";
import { functionGroup, type ProcessGroup } from "./process-group.ts";
import { storeOperation } from "./store-group.ts";
import type { StorePort } from "./store-port.ts";

/** `session.ID Get Set Has Del GetMany SetMany Dump`. */
export function sessionGroup(port: StorePort): ProcessGroup {
  const stored = (method: string, args: ProcessArgs, { scope, signal }: ProcessCaller): Promise<Json> =>
    // The colon is what keeps `stores.*` out.
    port.call(scope, { store: `session:${scope.userId}`, ...storeOperation(method, args) }, signal);
  return functionGroup({
    ID: (_args, { scope }) => scope.chatId ?? scope.runId,
    Get: (args, caller) => {
      const fact = facts(caller).get(args.text(0, "key"));
      return fact === undefined ? stored("Get", args, caller) : fact;
    },
    Has: (args, caller) => facts(caller).has(args.text(0, "key")) || stored("Has", args, caller),
    Set: (args, caller) => {
      refuseFacts(args, [args.text(0, "key")], caller);
      return stored("Set", args, caller);
    },
    Del: (args, caller) => {
      refuseFacts(args, [args.text(0, "key")], caller);
      return stored("Del", args, caller);
    },
    GetMany: async (args, caller) => {
      const found = new Map([
        ...Object.entries((await stored("GetMulti", args, caller)) as JsonObject),
        ...facts(caller),
      ]);
      return Object.fromEntries(args.texts(0, "keys").map((name) => [name, found.get(name) ?? null]));
    },
    SetMany: (args, caller) => {
      refuseFacts(args, Object.keys(args.object(0, "values")), caller);
      return stored("SetMulti", args, caller);
    },
    Dump: async (_args, caller) => {
      const store = `session:${caller.scope.userId}`;
      const keys = (await port.call(caller.scope, { store, op: "keys" }, caller.signal)) as readonly string[];
      const values = (await port.call(caller.scope, { store, op: "getMulti", keys }, caller.signal)) as JsonObject;
      return Object.fromEntries([...Object.entries(values), ...facts(caller)]);
    },
  });
}

function facts({ scope, locale }: ProcessCaller): ReadonlyMap<string, Json> {
  return new Map<string, Json>([
    ["user_id", scope.userId],
    ["team_id", scope.teamId ?? null],
    ["chat_id", scope.chatId ?? null],
    ["locale", locale],
  ]);
}

function refuseFacts(args: ProcessArgs, keys: readonly string[], caller: ProcessCaller): void {
  const fixed = keys.find((key) => facts(caller).has(key));
  if (fixed !== undefined) args.refuse(`"${fixed}" is a fact about the caller and cannot be changed; use another key`);
}
