/**
 * A bundle becomes the newest version of an app.
 *
 * P1  All or nothing, in one transaction; a bundle with problems changes nothing and every problem is reported at once.
 * P2  The same bundle again changes nothing.
 * P3  An assistant's id belongs to one app of a workspace.
 */

import {
  type App,
  bundleDigest,
  loadApp,
  type Problem as FoundProblem,
  readBundle,
  localizeAssistant,
  type Assistant,
} from "@mesh/assistants";
import { type Ids, MeshError } from "@mesh/kernel";
import { loadCatalog, migrateModels, type ModelCatalog, type ModelDb, type ModelProblem } from "@mesh/models";
import type { Problem, PushAppRequest, PushAppResponse } from "@mesh/proto";
import { insertAudit, type Store } from "@mesh/store";

import type { Access } from "../auth/access.ts";
import { actorOf } from "../auth/caller.ts";
import type { Call } from "../gateway/operation.ts";
import {
  findClashes,
  insertBundle,
  insertVersion,
  listApps,
  lockForPush,
  type NewAppConnector,
  type NewAssistant,
  replaceContent,
} from "./app-store.ts";
import { toApp } from "./app-view.ts";
import { modelFiles } from "./app-models.ts";

/** What a push uses. */
export interface PushDeps {
  readonly store: Store;
  readonly access: Access;
  readonly ids: Ids;
  /** The tables of models. */
  readonly models: ModelDb;
  /** Key of columns that are encrypted, for the rows a table starts with. */
  readonly columnSecret: Uint8Array;
}

/** An app without surprises has a handful; more than this says that the wrong directory was pushed. */
const MAX_PROBLEMS = 200;
const LIST_LOCALE = "en-us";

/** Validates and stores; throws `invalid_argument` with `details.problems`. */
export async function pushApp(deps: PushDeps, request: PushAppRequest, { caller }: Call): Promise<PushAppResponse> {
  const workspace = await deps.access.workspace(caller, request.workspace, "write");
  const { app, problems: found } = loadApp(readBundle(request.bundle));
  const { catalog, problems: modelProblems } = loadCatalog(modelFiles(app));
  const problems = [...found, ...modelProblems.map(ofModel)];
  refuseErrors(problems);
  const digest = bundleDigest(request.bundle);
  let migrations: readonly string[] = [];
  const changed = await deps.store.sql.begin(async (tx) => {
    await lockForPush(tx, workspace.id);
    const [present] = await listApps(tx, workspace.id, request.app);
    if (present?.digest === digest && !request.reset_models) return false;
    const clashes = await findClashes(tx, workspace.id, request.app, [...app.assistants.keys()]);
    refuseClashes(request.app, clashes);
    // Adds only, and before the version is there: a run of it finds its tables. What is added stays when the push fails.
    migrations = await migrate(deps, catalog, { workspaceId: workspace.id, ...request });
    await insertBundle(tx, digest, request.bundle);
    const { id, version } = await insertVersion(tx, {
      appId: deps.ids.next("app"),
      workspaceId: workspace.id,
      name: request.app,
      digest,
      createdBy: actorOf(caller),
    });
    await replaceContent(
      tx,
      { appId: id, workspaceId: workspace.id },
      { assistants: assistantsOf(app), connectors: connectorsOf(app) },
    );
    await insertAudit(tx, {
      id: deps.ids.next("audit"),
      actor: actorOf(caller),
      action: "app.push",
      object: id,
      workspaceId: workspace.id,
      detail: { name: request.app, version, digest },
    });
    return true;
  });
  const [row] = await listApps(deps.store.sql, workspace.id, request.app);
  return {
    app: row === undefined ? undefined : toApp(row),
    changed,
    warnings: problems.slice(0, MAX_PROBLEMS).map(toProblem),
    migrations: [...migrations],
  };
}

async function migrate(
  { models, columnSecret }: PushDeps,
  catalog: ModelCatalog,
  { workspaceId, app, reset_models: reset }: { workspaceId: string; app: string; reset_models: boolean },
): Promise<readonly string[]> {
  if (catalog.models.length === 0) return [];
  const { applied } = await migrateModels(models, catalog, { workspaceId, app, reset, columnSecret });
  return applied;
}

function ofModel({ path, line = 0, message, severity }: ModelProblem): FoundProblem {
  return { file: path, line, message, severity };
}

function refuseErrors(problems: readonly FoundProblem[]): void {
  const errors = problems.filter(({ severity }) => severity === "error");
  const [first] = errors;
  if (first === undefined) return;
  const place = first.line > 0 ? `${first.file}:${first.line}` : first.file;
  const more = errors.length === 1 ? "" : ` (and ${errors.length - 1} more)`;
  throw new MeshError(
    "invalid_argument",
    `the app has problems: ${place}: ${first.message}${more}; see them all with: yao app check DIR`,
    { details: { problems: problems.slice(0, MAX_PROBLEMS).map(toProblem) } },
  );
}

function refuseClashes(appName: string, clashes: readonly { readonly id: string; readonly app: string }[]): void {
  const [first] = clashes;
  if (first === undefined) return;
  const more = clashes.length === 1 ? "" : ` (and ${clashes.length - 1} more)`;
  throw new MeshError(
    "already_exists",
    `assistant ${first.id} belongs to app ${first.app} of this workspace${more}: rename it in ${appName}, or remove ${first.app} first`,
    { details: { clashes: clashes.map(({ id, app }) => ({ id, app })) } },
  );
}

function assistantsOf(app: App): readonly NewAssistant[] {
  return [...app.assistants.values()].map((assistant) => ({
    id: assistant.id,
    ...namesOf(app, assistant),
    connector: assistant.connector ?? "",
    type: assistant.type,
    avatar: assistant.avatar ?? "",
    tags: [...assistant.tags],
  }));
}

// Lists show one language; a run speaks the caller's.
function namesOf(app: App, assistant: Assistant): Pick<NewAssistant, "name" | "description"> {
  const { name, description } = localizeAssistant(assistant, LIST_LOCALE, app);
  return { name, description };
}

function connectorsOf(app: App): readonly NewAppConnector[] {
  return [...app.connectors.values()].map(({ id, type, label, options }) => ({ id, config: { type, label, options } }));
}

function toProblem({ file, line, message, severity }: FoundProblem): Problem {
  return { file, line, message, severity };
}
