/** Data models for evals: a private PostgreSQL, started when a model is used first and gone with the eval. */

import { join } from "node:path";

import type { App } from "@mesh/assistants";
import type { ModelCalls } from "@mesh/eval/local";
import { type Clock, MeshError } from "@mesh/kernel";

/** What answers the models of an app. */
export interface EvalModels extends AsyncDisposable {
  readonly forApp: (app: App) => ModelCalls;
}

interface Opened {
  readonly call: ModelCalls;
  readonly close: () => Promise<void>;
}

// One eval, one workspace: its teams see each other's rows as little as teams of a workspace do.
const WORKSPACE = "ws_01eva10000000000000000000a";

/** Models that keep their data below `dir`. */
export function openModels(clock: Clock, dir: string): EvalModels {
  let opened: Promise<Opened> | undefined;
  return {
    forApp: (app) => async (scope, method, args) => {
      opened ??= open(clock, dir, app);
      const { call } = await opened;
      return call(scope, method, args);
    },
    async [Symbol.asyncDispose]() {
      const there = await opened?.catch(() => undefined);
      await there?.close();
    },
  };
}

async function open(clock: Clock, dir: string, app: App): Promise<Opened> {
  const { loadCatalog, migrateModels, modelDb, ModelService } = await import("@mesh/models");
  const { openStore, startEmbeddedPostgres } = await import("@mesh/store");
  const files = [...app.models.values()].map(({ path }) => ({ path, text: app.file(path) ?? "" }));
  const { catalog, problems } = loadCatalog(files);
  const [first] = problems.filter(({ severity }) => severity === "error");
  if (first !== undefined) {
    throw new MeshError("failed_precondition", `${first.path}:${first.line ?? 0}: ${first.message}; see yao app check`);
  }
  const quiet = (): void => undefined;
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  const server = await startEmbeddedPostgres({ dataDir: join(dir, "postgres"), clock, log, durable: false });
  const store = openStore({ url: server.url, applicationName: "yao-eval" });
  const close = async (): Promise<void> => {
    await store.close();
    await server.stop();
  };
  try {
    const db = modelDb(store);
    await migrateModels(db, catalog, { workspaceId: WORKSPACE, app: "eval" });
    const service = new ModelService({ db });
    const call: ModelCalls = async ({ workspaceId: teamId, userId }, method, [modelId, ...args]) => {
      if (typeof modelId !== "string") throw new MeshError("invalid_argument", "a model call needs the id of a model");
      const scope = { workspaceId: WORKSPACE, teamId, userId };
      if (modelId !== "") return service.call({ scope, catalog, modelId, method, args });
      // `models.migrate` and `models.cleanup` of hooks around an eval: the database is the eval's own.
      if (/^migrate$/i.test(method)) return null;
      if (!/^cleanup$/i.test(method)) throw new MeshError("not_found", `there is no process "models.${method}"`);
      for (const each of app.models.keys()) {
        await service.call({ scope, catalog, modelId: each, method: "DestroyWhere", args: [{}] });
      }
      return null;
    };
    return { close, call };
  } catch (error) {
    await close();
    throw error;
  }
}
