/** A caller for tests. */

import type { ProcessCaller, Scope } from "../process-caller.ts";

/** A caller of workspace `ws_1`, user `user_1`, chat `chat_1`, with parts of its scope replaced. */
export function callerOf(
  scope: Partial<Scope> = {},
  signal: AbortSignal = new AbortController().signal,
): ProcessCaller {
  return {
    signal,
    scope: { workspaceId: "ws_1", userId: "user_1", teamId: "team_1", chatId: "chat_1", runId: "run_1", ...scope },
    locale: "en-us",
  };
}
