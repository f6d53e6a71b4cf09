/** `ctx.trace`: steps, logs and spaces, told as events of the run. */

import type { Json } from "@mesh/kernel";

import type { OpCaller, OpHandlers } from "./op-table.ts";

// A script that traces without end waits for its reader instead of filling the memory.
async function told<Result>({ context: { shared } }: OpCaller, result: Result): Promise<Result> {
  await shared.drained();
  return result;
}

async function done(caller: OpCaller, _nothing: void): Promise<undefined> {
  await told(caller, undefined);
}

/** Handlers of the trace. */
export const TRACE_OPS: OpHandlers = {
  "trace.Add": (caller, [parent, input, option]) => {
    const { trace } = caller.context;
    if (parent === null) return told(caller, trace.add(input, option));
    const [id = ""] = trace.addUnder(parent, [{ input, option }]);
    return told(caller, id);
  },
  "trace.Parallel": (caller, [parent, inputs]) => {
    const { trace } = caller.context;
    return told(caller, parent === null ? trace.parallel(inputs) : trace.parallelUnder(parent, inputs));
  },
  "trace.Log": (caller, [node, level, message, data]) => {
    const more = data.length === 0 ? "" : ` ${data.map(shown).join(" ")}`;
    return done(caller, caller.context.trace.log(level.toLowerCase(), `${message}${more}`, node ?? undefined));
  },
  "trace.SetOutput": (caller, [node, output]) =>
    done(caller, caller.context.trace.setOutput(output, node ?? undefined)),
  "trace.SetMetadata": (caller, [node, key, value]) =>
    done(caller, caller.context.trace.setMetadata(key, value, node ?? undefined)),
  "trace.Complete": (caller, [node, [output]]) =>
    done(caller, caller.context.trace.complete(output, node ?? undefined)),
  "trace.Fail": (caller, [node, error]) => done(caller, caller.context.trace.fail(error, node ?? undefined)),
  "trace.MarkComplete": (caller) => done(caller, caller.context.trace.markComplete()),
  "trace.IsComplete": ({ context: { trace } }) => trace.isComplete,
  "trace.CreateSpace": (caller, [option]) => told(caller, caller.context.trace.createSpace(option)),
  "trace.GetSpace": ({ context: { trace } }, [id]) => trace.hasSpace(id),
  "trace.SpaceGet": ({ context: { trace } }, [id, key]) => trace.spaceGet(id, key),
  "trace.SpaceSet": (caller, [id, key, value]) => done(caller, caller.context.trace.spaceSet(id, key, value)),
  "trace.SpaceHas": ({ context: { trace } }, [id, key]) => trace.spaceKeys(id).includes(key),
  "trace.SpaceDelete": (caller, [id, key]) => done(caller, caller.context.trace.spaceDelete(id, key)),
  "trace.SpaceClear": (caller, [id]) => done(caller, caller.context.trace.spaceDelete(id)),
  "trace.SpaceKeys": ({ context: { trace } }, [id]) => trace.spaceKeys(id),
};

function shown(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
