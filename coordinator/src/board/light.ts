/**
 * What a small model makes of a task when a run of it has ended: a title in place of the one by rule, a summary, links.
 *
 * G1  It is an extra: whatever goes wrong here changes nothing about the task, and holds up nothing.
 * G2  It never writes over what a person wrote, and takes from the model's answer only what has the shape that was asked for.
 */

import { loadApp, readBundle } from "@mesh/assistants";
import { type Clock, Doorbell, errorText, isObject, type Service } from "@mesh/kernel";
import { connectorModel, type ProviderRegistry, textContent, textOf } from "@mesh/llm";
import type { Logger } from "@mesh/observability";
import type { Sql, Store } from "@mesh/store";

import type { SecretBox } from "../auth/secret-box.ts";
import { openConnector } from "../connectors/connector-test.ts";
import { listMessages, textOfBody } from "./conversation-store.ts";
import { lockTask, type StoredOutput } from "./task-row.ts";
import { editTask, putOutputs } from "./task-store.ts";
import { cutAtWord } from "./task-text.ts";

/** What it uses. */
export interface LightDeps {
  readonly store: Store;
  readonly secretBox: SecretBox;
  readonly providers: ProviderRegistry;
  readonly clock: Clock;
  readonly log: Logger;
  readonly recorded: () => void;
}

const ROLE = "light";
const MAX_WAITING = 200;
const MAX_MESSAGES = 40;
const MAX_TEXT = 12_000;
const MAX_ANSWER_TOKENS = 2048;
const LIMIT_MS = 60_000;
const MAX_OUTPUTS = 100;

const INSTRUCTION =
  "You name and summarize work for a task board. Answer with one JSON object and nothing else: " +
  '{"title": "at most eight words", "summary": "one or two sentences: what came of it so far", ' +
  '"links": [{"title": "…", "url": "https://…"}]}. Use the language of the conversation. List only links that it contains.';

/** Summarizes one task after the other; more than 200 waiting are dropped, the oldest first. */
export class Light implements Service {
  readonly name = "task-summaries";
  readonly #deps: LightDeps;
  readonly #waiting = new Set<string>();
  readonly #bell = new Doorbell();

  constructor(deps: LightDeps) {
    this.#deps = deps;
  }

  /** A run of this task has ended. */
  ended(taskId: string): void {
    this.#waiting.delete(taskId);
    this.#waiting.add(taskId);
    const [oldest] = this.#waiting;
    if (this.#waiting.size > MAX_WAITING && oldest !== undefined) this.#waiting.delete(oldest);
    this.#bell.ring();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const [taskId] = this.#waiting;
      if (taskId === undefined) await this.#bell.wait(signal);
      else await this.#summarize(taskId, signal);
    }
  }

  async #summarize(taskId: string, signal: AbortSignal): Promise<void> {
    this.#waiting.delete(taskId);
    try {
      const words = await this.#ask(taskId, signal);
      if (words !== undefined) await this.#keep(taskId, words);
    } catch (error) {
      if (!signal.aborted) this.#deps.log.info({ taskId, reason: errorText(error) }, "task not summarized");
    }
  }

  async #ask(taskId: string, signal: AbortSignal): Promise<Said | undefined> {
    const { store, providers, clock } = this.#deps;
    const connector = await lightConnector(store.sql, taskId);
    const open =
      connector === undefined ? undefined : await openConnector(this.#deps, connector.workspaceId, connector.id);
    if (open === undefined) return undefined;
    const { model, defaults } = connectorModel(open());
    const text = await conversationText(store.sql, taskId);
    const message = await providers.stream(
      {
        ...defaults,
        model,
        systemPrompt: INSTRUCTION,
        messages: [{ role: "user", content: [textContent(text)], timestamp: clock.now() }],
        maxTokens: MAX_ANSWER_TOKENS,
        timeouts: { ...defaults.timeouts, attemptMs: LIMIT_MS },
      },
      () => undefined,
      signal,
    );
    return readAnswer(textOf(message.content), text);
  }

  async #keep(taskId: string, { title, summary, links }: Said): Promise<void> {
    await this.#deps.store.sql.begin(async (tx) => {
      const task = await lockTask(tx, taskId);
      if (task === undefined) return;
      const mayName = task.title_by !== "person" && title !== "";
      await editTask(tx, taskId, {
        ...(mayName ? { title, titleBy: "model" } : {}),
        ...(summary === "" ? {} : { summary }),
      });
      const known = new Set(task.outputs.map(({ target }) => target));
      const added = links.filter(({ target }) => !known.has(target));
      if (added.length > 0) await putOutputs(tx, taskId, [...task.outputs, ...added].slice(0, MAX_OUTPUTS));
    });
    this.#deps.recorded();
  }
}

/** What a model said of a task. */
export interface Said {
  readonly title: string;
  readonly summary: string;
  readonly links: readonly StoredOutput[];
}

/** Reads a model's answer about a text; undefined when it makes no sense. Models like to wrap JSON in prose. Pure. */
export function readAnswer(answer: string, text: string): Said | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(answer.slice(answer.indexOf("{"), answer.lastIndexOf("}") + 1));
  } catch {
    return undefined;
  }
  if (!isObject(parsed)) return undefined;
  const line = (value: unknown, max: number): string =>
    typeof value === "string" ? cutAtWord(value.replaceAll(/[\s\0]+/g, " ").trim(), max) : "";
  const links = Array.isArray(parsed["links"]) ? parsed["links"].filter(isObject) : [];
  return {
    title: line(parsed["title"], 80),
    summary: line(parsed["summary"], 400),
    links: links.flatMap(({ title, url }): StoredOutput[] => {
      // A link that was made up is worse than none.
      if (typeof url !== "string" || !/^https?:\/\/\S{3,1000}$/.test(url) || !text.includes(url)) return [];
      return [{ kind: "link", title: line(title, 200) || url, target: url }];
    }),
  };
}

async function conversationText(sql: Sql, taskId: string): Promise<string> {
  const rows = await listMessages(sql, taskId, 0, MAX_MESSAGES);
  const lines = rows.flatMap(({ role, body }) => {
    const said = textOfBody(JSON.parse(body));
    return said === "" ? [] : [`${role}: ${said}`];
  });
  return lines.join("\n\n").slice(-MAX_TEXT);
}

/** The connector for small work: that of role `light` in the settings of the task's app, else the workspace's one called `light`. */
async function lightConnector(
  sql: Sql,
  taskId: string,
): Promise<{ readonly workspaceId: string; readonly id: string } | undefined> {
  const [row] = await sql<{ workspace_id: string; has_light: boolean; bytes: Buffer | null }[]>`
    SELECT t.workspace_id, EXISTS (
        SELECT 1 FROM connectors c WHERE c.workspace_id = t.workspace_id AND c.id = ${ROLE}
      ) AS has_light, (
        SELECT b.bytes FROM runs r JOIN bundles b ON b.digest = r.bundle_digest WHERE r.task_id = t.id ORDER BY r.id DESC LIMIT 1
      ) AS bytes
    FROM tasks t WHERE t.id = ${taskId}`;
  if (row === undefined) return undefined;
  const roles = row.bytes === null ? undefined : loadApp(readBundle(row.bytes)).app.settings["system"];
  const named = isObject(roles) ? roles[ROLE] : undefined;
  if (typeof named === "string" && named !== "" && !named.startsWith("$ENV."))
    return { workspaceId: row.workspace_id, id: named };
  return row.has_light ? { workspaceId: row.workspace_id, id: ROLE } : undefined;
}
