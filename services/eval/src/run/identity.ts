/** Who a case runs as: flags before the case, the case before the context file, that before the defaults. Pure. */

import type { Json, JsonObject } from "@mesh/kernel";

import type { EvalCase } from "../eval-case.ts";
import type { Identity } from "../host.ts";

/** A context file, as far as it says something. */
export interface ContextFile {
  readonly chatId?: string;
  readonly locale?: string;
  readonly referer?: string;
  readonly authorized: JsonObject;
  readonly metadata: JsonObject;
  readonly client?: Identity["client"];
}

/** What a whole eval says about its users. */
export interface IdentitySettings {
  /** Of the flags. */
  readonly user?: string;
  readonly team?: string;
  readonly locale?: string;
  readonly context: ContextFile;
  /** Makes chats of this eval others than those of any other. */
  readonly nonce: string;
}

/** No context file. */
export const NO_CONTEXT: ContextFile = { authorized: {}, metadata: {} };

const DEFAULT_CLIENT = { type: "test", ip: "127.0.0.1" };

/** The identity for one run of a case; every run has a chat of its own, however it is named. */
export function identityOf(
  unit: { readonly test?: Pick<EvalCase, "id" | "user" | "team" | "contextMetadata">; readonly run: number },
  settings: IdentitySettings,
): Identity {
  const { test, run } = unit;
  const { context, nonce } = settings;
  const suffix = `${test?.id ?? "all"}${run > 1 ? `-run${run}` : ""}-${nonce}`;
  return {
    chatId: `${context.chatId ?? "test"}-${suffix}`,
    locale: (settings.locale ?? context.locale ?? "en-us").toLowerCase(),
    metadata: { ...context.metadata, ...test?.contextMetadata },
    authorized: context.authorized,
    client: context.client ?? DEFAULT_CLIENT,
    referer: context.referer ?? "test",
    // Last: fields after a spread cost more than all the rest of it.
    ...whoOf(test, settings),
  };
}

function whoOf(
  test: Pick<EvalCase, "user" | "team"> | undefined,
  { user, team, context }: IdentitySettings,
): Pick<Identity, "userId" | "teamId"> {
  const { authorized } = context;
  return {
    userId: user ?? test?.user ?? textIn(authorized["user_id"]) ?? "test-user",
    teamId: team ?? test?.team ?? textIn(authorized["team_id"]) ?? "test-team",
  };
}

function textIn(value: Json | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
