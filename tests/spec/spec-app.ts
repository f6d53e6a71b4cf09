/** The fixture app with a real database behind its models, and programs of the documents among its assistants. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { systemIds } from "@mesh/kernel";
import { loadCatalog, type ModelCatalog, ModelService } from "@mesh/models";

import { ModelFixture } from "../../services/models/src/testing/model-fixture.ts";
import type { LocalService } from "../../services/runtime/src/local-state.ts";
import { type AppRun, type AppRunOptions, TestApp } from "../../services/runtime/src/testing/app-run.ts";

const ids = systemIds();

/** What `ctx.search.KB` finds: the documents of a workspace are not kept in memory. */
const DOCUMENTS = [{ title: "A document", url: "", content: "What it says", score: 0.9 }];

/** What lies in the workspace's folder. */
const WORKSPACE: Readonly<Record<string, string>> = {
  "config.json": "{}",
  "src/index.ts": "",
  "output/report.txt": "All is well",
  "package.json": '{"scripts":{"test":"echo tested"}}',
};

/** See the file comment. */
export class SpecApp implements AsyncDisposable {
  readonly app: TestApp;
  readonly catalog: ModelCatalog;
  readonly #models: ModelFixture;
  readonly #workspaceId: string = ids.next("ws");
  #users = 0;
  /** Whose run it is, as the coordinator knows it from its own record of the run. */
  #assistantId = "";

  private constructor(files: Readonly<Record<string, string>>, models: ModelFixture) {
    this.#models = models;
    this.catalog = loadCatalog(
      Object.entries(files).flatMap(([path, text]) => (path.endsWith(".mod.yao") ? [{ path, text }] : [])),
    ).catalog;
    const service = new ModelService({ db: models.db });
    const scopeOf = ({ workspaceId, userId }: Parameters<LocalService>[0]) => ({
      workspaceId,
      userId,
      teamId: workspaceId,
    });
    this.app = new TestApp(files, {
      models: (scope, method, [modelId, ...args]) =>
        service.call({ scope: scopeOf(scope), catalog: this.catalog, modelId: modelId as string, method, args }),
      search: async (scope, method, [request]) => {
        if (method === "KB") return DOCUMENTS;
        const { models: wanted, ...rest } = request as unknown as { models: string[]; query: string };
        const hits = await service.search({
          scope: scopeOf(scope),
          catalog: this.catalog,
          modelIds: wanted,
          assistantId: this.#assistantId,
          request: rest,
        });
        return hits.map(({ title, content, score }) => ({ title, content, score, url: "" }));
      },
    });
  }

  static async open(files: Readonly<Record<string, string>>): Promise<SpecApp> {
    const models = await ModelFixture.open();
    const opened = new SpecApp(files, models);
    for (const [path, text] of Object.entries(WORKSPACE)) {
      mkdirSync(dirname(join(opened.app.dir, path)), { recursive: true });
      writeFileSync(join(opened.app.dir, path), text);
    }
    await models.migrate(opened.catalog, { workspaceId: opened.#workspaceId, userId: ids.next("user") });
    return opened;
  }

  /** Runs an assistant as a person who was never there before, in a chat of their own. */
  run(assistantId: string, input: string, options: AppRunOptions = {}): Promise<AppRun> {
    this.#users += 1;
    this.#assistantId = assistantId;
    return this.app.run(assistantId, input, {
      steps: [() => ({ text: "An answer" })],
      userId: `user_${this.#users}`,
      chatId: `chat_${this.#users}`,
      workspaceId: this.#workspaceId,
      ...options,
      input: { env: (name) => (name === "LLM_CONNECTOR" ? "gpt-4o" : "a-key"), ...options.input },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app[Symbol.asyncDispose]();
    await this.#models[Symbol.asyncDispose]();
  }
}
