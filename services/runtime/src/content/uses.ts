/** Who does for a request what its model cannot: the app's words, then the assistant's, the call's, and Create's. Pure. */

import { type App, type Assistant, usesOf } from "@mesh/assistants";
import { isObject, type Json, type JsonObject } from "@mesh/kernel";

import type { CreateResult } from "../hook-result.ts";

/** Agents, or `mcp:<server>`, by what they do; what is empty is nobody's. */
export type Uses = Readonly<Record<string, string>>;

/** What the helpers of one request depend on. */
export interface UsesRequest {
  readonly app: Pick<App, "uses">;
  readonly assistant: Pick<Assistant, "uses">;
  readonly options: JsonObject;
  readonly create: CreateResult | undefined;
}

/** The helpers of one request. */
export function effectiveUses({ app, assistant, options, create }: UsesRequest): Uses {
  return { ...usesOf(app, assistant), ...textsIn(options["uses"]), ...textsIn(create?.uses) };
}

/** Whether helpers are asked also where the model could do by itself. */
export function forcesUses({ options, create }: Pick<UsesRequest, "options" | "create">): boolean {
  return create?.forceUses ?? options["force_uses"] === true;
}

function textsIn(value: Json | undefined): Uses {
  if (!isObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
