/** `ctx.trace`: nodes, logs and spaces a user can watch. Everything here returns what it was called on, for chaining. */

import { api, jsonOf, listOf, optionalRecord, recordOf, textOf } from "./api.ts";
import { invoke } from "./bridge.ts";
import type { Json } from "@mesh/kernel";

type Methods = Record<string, unknown>;

/** The trace of a run, with its current node as the target of the short forms. */
export function traceOf(id: string): Methods {
  const trace = nodeMethods(null, "ctx.trace");
  Object.assign(trace, {
    id,
    MarkComplete: () => chained(trace, () => invoke("trace.MarkComplete")),
    IsComplete: () => invoke("trace.IsComplete"),
    CreateSpace: (option: unknown) =>
      spaceOf(invoke("trace.CreateSpace", recordOf(option, "trace.CreateSpace: the option"))),
    GetSpace: (spaceId: unknown) => {
      const name = textOf(spaceId, "trace.GetSpace: the id");
      return invoke("trace.GetSpace", name) ? spaceOf(name) : null;
    },
    Release: () => undefined,
  });
  return api("ctx.trace", trace);
}

function nodeOf(id: string): Methods {
  return api("a trace node", { __proto__: null, id, ...nodeMethods(id, "node") });
}

/** Methods on one node, or on the current one when `node` is null. */
function nodeMethods(node: string | null, name: string): Methods {
  const log = (level: string) =>
    function write(this: unknown, message: unknown, ...data: readonly unknown[]): unknown {
      invoke("trace.Log", node, level, String(message), data.map(jsonOf));
      return this;
    };
  return {
    __proto__: null,
    Add: (input: unknown, option?: unknown) =>
      nodeOf(invoke("trace.Add", node, jsonOf(input), optionalRecord(option, `${name}.Add: the option`) ?? {})),
    Parallel: (inputs: unknown) =>
      invoke("trace.Parallel", node, listOf(inputs, `${name}.Parallel: the inputs`)).map(nodeOf),
    Info: log("info"),
    Debug: log("debug"),
    Warn: log("warn"),
    Error: log("error"),
    SetOutput(this: unknown, output: unknown): unknown {
      return chained(this, () => invoke("trace.SetOutput", node, jsonOf(output)));
    },
    SetMetadata(this: unknown, key: unknown, value: unknown): unknown {
      return chained(this, () =>
        invoke("trace.SetMetadata", node, textOf(key, `${name}.SetMetadata: the key`), jsonOf(value)),
      );
    },
    Complete(this: unknown, ...output: readonly unknown[]): unknown {
      return chained(this, () => invoke("trace.Complete", node, given(output)));
    },
    Fail(this: unknown, error: unknown): unknown {
      return chained(this, () => invoke("trace.Fail", node, messageOf(error)));
    },
  };
}

function spaceOf(id: string): Methods {
  const key = (value: unknown): string => textOf(value, "a trace space's key");
  const space: Methods = {
    __proto__: null,
    id,
    Get: (name: unknown) => invoke("trace.SpaceGet", id, key(name)) ?? null,
    Set: (name: unknown, value: unknown) =>
      chained(space, () => invoke("trace.SpaceSet", id, key(name), jsonOf(value))),
    Has: (name: unknown) => invoke("trace.SpaceHas", id, key(name)) === true,
    Delete: (name: unknown) => chained(space, () => invoke("trace.SpaceDelete", id, key(name))),
    Clear: () => chained(space, () => invoke("trace.SpaceClear", id)),
    Keys: () => invoke("trace.SpaceKeys", id) ?? [],
  };
  return api("a trace space", space);
}

function given(output: readonly unknown[]): readonly Json[] {
  const [first] = output;
  return first === undefined ? [] : [jsonOf(first)];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function chained(target: unknown, effect: () => unknown): unknown {
  effect();
  return target;
}
