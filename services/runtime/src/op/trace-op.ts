/** `ctx.trace`: steps, logs and spaces, told as events of the run. */

import type { Json } from "@mesh/kernel";

import type { OpHandlers } from "./op-table.ts";

function done(_nothing: void): undefined {
  return undefined;
}

/** Handlers of the trace. */
export const TRACE_OPS: OpHandlers = {
  "trace.Add": ({ context: { trace } }, [parent, input, option]) => {
    if (parent === null) return trace.add(input, option);
    const [id = ""] = trace.addUnder(parent, [{ input, option }]);
    return id;
  },
  "trace.Parallel": ({ context: { trace } }, [parent, inputs]) =>
    parent === null ? trace.parallel(inputs) : trace.parallelUnder(parent, inputs),
  "trace.Log": ({ context: { trace } }, [node, level, message, data]) => {
    const more = data.length === 0 ? "" : ` ${data.map(shown).join(" ")}`;
    return done(trace.log(level.toLowerCase(), `${message}${more}`, node ?? undefined));
  },
  "trace.SetOutput": ({ context: { trace } }, [node, output]) => done(trace.setOutput(output, node ?? undefined)),
  "trace.SetMetadata": ({ context: { trace } }, [node, key, value]) =>
    done(trace.setMetadata(key, value, node ?? undefined)),
  "trace.Complete": ({ context: { trace } }, [node, [output]]) => done(trace.complete(output, node ?? undefined)),
  "trace.Fail": ({ context: { trace } }, [node, error]) => done(trace.fail(error, node ?? undefined)),
  "trace.MarkComplete": ({ context: { trace } }) => done(trace.markComplete()),
  "trace.IsComplete": ({ context: { trace } }) => trace.isComplete,
  "trace.CreateSpace": ({ context: { trace } }, [option]) => trace.createSpace(option),
  "trace.GetSpace": ({ context: { trace } }, [id]) => trace.hasSpace(id),
  "trace.SpaceGet": ({ context: { trace } }, [id, key]) => trace.spaceGet(id, key),
  "trace.SpaceSet": ({ context: { trace } }, [id, key, value]) => done(trace.spaceSet(id, key, value)),
  "trace.SpaceHas": ({ context: { trace } }, [id, key]) => trace.spaceKeys(id).includes(key),
  "trace.SpaceDelete": ({ context: { trace } }, [id, key]) => done(trace.spaceDelete(id, key)),
  "trace.SpaceClear": ({ context: { trace } }, [id]) => done(trace.spaceDelete(id)),
  "trace.SpaceKeys": ({ context: { trace } }, [id]) => trace.spaceKeys(id),
};

function shown(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
