/** Every migration by name. Names sort in the order they are applied; one that has been released is never edited. */

import type { Migration } from "kysely";

import * as first from "./0001-first.ts";
import * as waitingRuns from "./0002-waiting-runs.ts";
import * as state from "./0003-state.ts";
import * as accounts from "./0004-accounts.ts";
import * as board from "./0005-board.ts";
import * as files from "./0006-files.ts";
import * as webhooks from "./0007-webhooks.ts";
import * as agents from "./0008-agents.ts";
import * as evals from "./0009-evals.ts";
import * as push from "./0010-push.ts";

/** A static map, so that bundling the program keeps the migrations in it. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  "0001-first": first,
  "0002-waiting-runs": waitingRuns,
  "0003-state": state,
  "0004-accounts": accounts,
  "0005-board": board,
  "0006-files": files,
  "0007-webhooks": webhooks,
  "0008-agents": agents,
  "0009-evals": evals,
  "0010-push": push,
};
