/** `ctx.Send` and its kin: what a script shows the user. */

import type { OpCaller, OpHandlers } from "./op-table.ts";

// A script that sends without end waits for its reader instead of filling the memory.
async function sent<Result>({ context }: OpCaller, result: Result): Promise<Result> {
  await context.shared.drained();
  return result;
}

/** Handlers of messages, ids and blocks. */
export const MESSAGE_OPS: OpHandlers = {
  "ctx.Send": (caller, [message, block]) => sent(caller, caller.context.hookOutput.send(message, block ?? undefined)),
  "ctx.SendStream": (caller, [message, block]) =>
    sent(caller, caller.context.hookOutput.sendStream(message, block ?? undefined)),
  "ctx.Append": (caller, [id, content, path]) =>
    sent(caller, caller.context.hookOutput.append(id, content, path ?? undefined)),
  "ctx.Replace": (caller, [id, message]) => sent(caller, caller.context.hookOutput.replace(id, message)),
  "ctx.Merge": (caller, [id, data, path]) => sent(caller, caller.context.hookOutput.merge(id, data, path ?? undefined)),
  "ctx.Set": (caller, [id, value, path]) => sent(caller, caller.context.hookOutput.set(id, value, path)),
  "ctx.End": (caller, [id, final]) => sent(caller, caller.context.hookOutput.end(id, final)),
  "ctx.EndBlock": ({ context }, [id]) => {
    context.hookOutput.endBlock(id);
    return undefined;
  },
  "ctx.MessageID": ({ context }) => context.out.ids.message(),
  "ctx.BlockID": ({ context }) => context.out.ids.block(),
  "ctx.ThreadID": ({ context }) => context.out.ids.thread(),
};
