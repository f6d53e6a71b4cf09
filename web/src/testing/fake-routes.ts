/** The calls that the fake coordinator answers. */

import type { Task } from "@mesh/proto";

import { type Answer, type FakeState, type Query, rankOf, Refusal } from "./fake-state.ts";
import { EVAL_ROUTES } from "./fake-eval-routes.ts";
import { THING_ROUTES } from "./fake-thing-routes.ts";

type Handler = (state: FakeState, path: readonly string[], query: Query) => Answer;

const text = (value: unknown): string => (typeof value === "string" ? value : "");

function listTasks(state: FakeState, query: Query): Answer {
  const limit = Number(query["limit"] ?? 50);
  const from = Number(query["cursor"] ?? 0);
  const equal = ["column", "priority", "run_state", "assistant", "assignee", "node"] as const;
  const fits = (task: Task): boolean =>
    task.archived_at === undefined &&
    equal.every((key) => {
      const wanted = query[key];
      return wanted === undefined || wanted === "" || (key === "column" ? task.column_id : task[key]) === wanted;
    }) &&
    (text(query["label"]) === "" || task.labels.includes(text(query["label"]))) &&
    task.title.toLowerCase().includes(text(query["query"]).toLowerCase());
  const all = [...state.tasks.values()].filter(fits).sort((a, b) => (a.rank < b.rank ? -1 : 1));
  const tasks = all.slice(from, from + limit);
  const next_cursor = from + limit < all.length ? String(from + limit) : "";
  return { tasks, next_cursor, total: all.length, feed_seq: state.feedSeq };
}

function moveTask(state: FakeState, id: string, query: Query): Answer {
  const task = state.task(id);
  const revision = Number(query["revision"] ?? 0);
  if (revision !== 0 && revision !== task.revision) {
    throw new Refusal(409, "aborted", "the task was changed meanwhile", { code: "revision_conflict", task });
  }
  const column = state.board.columns.find((one) => one.id === query["column"]);
  if (column === undefined) throw new Refusal(404, "not_found", "there is no such column");
  const cards = [...state.tasks.values()]
    .filter((one) => one.column_id === column.id && one.id !== task.id)
    .sort((a, b) => (a.rank < b.rank ? -1 : 1));
  const after = cards.findIndex((one) => one.id === query["after"]);
  const before = cards.findIndex((one) => one.id === query["before"]);
  const index = after !== -1 ? after + 1 : before !== -1 ? before : 0;
  const low = Number(cards[index - 1]?.rank ?? 0) / 1_000;
  const high = Number(cards[index]?.rank ?? (low + 2) * 1_000) / 1_000;
  return {
    task: state.change(task.id, { column_id: column.id, category: column.category, rank: rankOf((low + high) / 2) }),
  };
}

function updateTask(state: FakeState, id: string, query: Query): Answer {
  const task = state.task(id);
  if (Number(query["revision"]) !== task.revision) {
    const details = { code: "revision_conflict", revision: task.revision, task };
    throw new Refusal(409, "aborted", "the task was changed meanwhile", details);
  }
  const { task: _task, revision: _revision, labels, blocked_by: _blocked, ...fields } = query;
  const items = (labels as { items?: string[] } | undefined)?.items;
  return {
    task: state.change(task.id, { ...(fields as Partial<Task>), ...(items === undefined ? {} : { labels: items }) }),
  };
}

function send(state: FakeState, id: string, query: Query): Answer {
  const task = state.task(id);
  const call = text(query["call_id"]);
  if (call !== "") {
    const run = task.run_id ?? "";
    state.emit(run, "run.answered", { call_id: call, decision: query["decision"] ?? "answer", by: "ada" });
    return { task: state.change(task.id, { run_state: "running", run_reason: "", pending: [] }), effect: "answered" };
  }
  state.addMessage(task.id, "user", {
    type: "text",
    props: { content: text(query["text"]), attachments: query["uploads"] },
  });
  const run = state.startRun(task.id);
  return { task: state.task(task.id), effect: "started", run: run.id };
}

function createTask(state: FakeState, query: Query): Answer {
  const message = text(query["message"]);
  const task = state.addTask({ title: text(query["title"]) || (message.split("\n")[0] ?? "") });
  state.addMessage(task.id, "user", { type: "text", props: { content: message } });
  state.tell("task.changed", task.id, { ...task });
  if (query["start"] === true) state.startRun(task.id);
  return { task: state.task(task.id) };
}

function messages(state: FakeState, id: string, query: Query): Answer {
  const task = state.task(id);
  const all = state.messages.get(task.id) ?? [];
  const before = Number(query["before_seq"] ?? 0);
  const limit = Number(query["limit"] ?? 50);
  const older = before === 0 ? all : all.filter(({ seq }) => seq < before);
  const page = older.slice(-limit);
  return { messages: page, has_more: page.length < older.length, run_id: task.run_id, run_seq: 0 };
}

function batch(state: FakeState, query: Query): Answer {
  const ids = query["tasks"] as readonly string[];
  const value = text(query["value"]);
  const tasks = ids.map((id) => {
    switch (query["action"]) {
      case "priority":
        return state.change(id, { priority: value });
      case "archive":
        return state.change(id, { archived_at: "2026-11-30T12:00:00.000Z" });
      case "restore":
        return state.change(id, { archived_at: undefined });
      case "move":
        return moveTask(state, id, { column: value })["task"];
      default:
        return state.task(id);
    }
  });
  return { tasks };
}

function inbox(state: FakeState, query: Query): Answer {
  const kind = text(query["kind"]);
  const isArchived = query["archived"] === "true";
  const entries = state.inbox.filter((entry) => (kind === "" || entry.kind === kind) && entry.archived === isArchived);
  return { entries, next_cursor: "", unread: state.inbox.filter(({ read }) => !read).length };
}

function markInbox(state: FakeState, query: Query): Answer {
  const ids = query["entries"] as readonly string[];
  const mark = text(query["state"]);
  state.inbox = state.inbox.map((entry) => {
    if (ids.length > 0 && !ids.includes(entry.id)) return entry;
    if (mark === "read" || mark === "unread") return { ...entry, read: mark === "read" };
    return { ...entry, archived: mark === "archived" };
  });
  return { unread: state.inbox.filter(({ read }) => !read).length };
}

function logIn(state: FakeState, query: Query): Answer {
  const isRight = query["password"] === "right password" || query["code"] === "CODE-1";
  if (!isRight) throw new Refusal(401, "unauthenticated", "name or password is wrong");
  state.isLoggedIn = true;
  return { account: state.account, csrf_token: state.csrfToken, token: "", expires_at: "" };
}

const HELPER = {
  id: "helper",
  name: "Helper",
  description: "Helps",
  app: "demo",
  app_version: 1,
  connector: "",
  tags: [],
};

/** Verb, pattern of the path, and what answers; the first that fits. */
export const ROUTES: readonly (readonly [verb: string, pattern: RegExp, handler: Handler])[] = [
  ["GET", /^\/v1\/login$/, () => ({ passwords: true, oidc_label: "", version: "1" })],
  ["POST", /^\/v1\/login$/, (state, _path, query) => logIn(state, query)],
  [
    "POST",
    /^\/v1\/logout$/,
    (state) => {
      state.isLoggedIn = false;
      return {};
    },
  ],
  ["GET", /^\/v1\/account$/, (state) => ({ account: state.account, csrf_token: state.csrfToken })],
  ["PATCH", /^\/v1\/account$/, (state, _path, query) => ({ account: Object.assign(state.account, query) })],
  [
    "GET",
    /^\/v1\/invitations\/([^/]+)$/,
    () => ({ invitation: { id: "inv_1", workspace: "home", role: "member", uses_left: 1, created_by: "ada" } }),
  ],
  [
    "POST",
    /^\/v1\/invitations\/([^/]+)$/,
    (state) => {
      state.isLoggedIn = true;
      return { account: state.account, csrf_token: state.csrfToken, token: "", workspace_id: "ws_1" };
    },
  ],
  [
    "GET",
    /^\/v1\/workspaces$/,
    () => ({ workspaces: [{ id: "ws_1", name: "home", created_at: "", is_default: true }] }),
  ],
  ["GET", /^\/v1\/workspaces\/[^/]+\/boards$/, (state) => ({ boards: [state.board] })],
  ["GET", /^\/v1\/boards\/[^/]+$/, (state) => ({ board: state.board })],
  ["GET", /^\/v1\/workspaces\/[^/]+\/tasks$/, (state, _path, query) => listTasks(state, query)],
  ["POST", /^\/v1\/workspaces\/[^/]+\/tasks$/, (state, _path, query) => createTask(state, query)],
  ["POST", /^\/v1\/workspaces\/[^/]+\/tasks\/batch$/, (state, _path, query) => batch(state, query)],
  ["GET", /^\/v1\/tasks\/([^/]+)$/, (state, [id = ""]) => ({ task: state.task(id), feed_seq: state.feedSeq })],
  ["PATCH", /^\/v1\/tasks\/([^/]+)$/, (state, [id = ""], query) => updateTask(state, id, query)],
  ["POST", /^\/v1\/tasks\/([^/]+)\/move$/, (state, [id = ""], query) => moveTask(state, id, query)],
  ["POST", /^\/v1\/tasks\/([^/]+)\/messages$/, (state, [id = ""], query) => send(state, id, query)],
  ["GET", /^\/v1\/tasks\/([^/]+)\/messages$/, (state, [id = ""], query) => messages(state, id, query)],
  [
    "POST",
    /^\/v1\/tasks\/([^/]+)\/start$/,
    (state, [id = ""]) => {
      state.startRun(id);
      return { task: state.task(id), started: true };
    },
  ],
  [
    "POST",
    /^\/v1\/tasks\/([^/]+)\/stop$/,
    (state, [id = ""]) => {
      state.emit(state.task(id).run_id ?? "", "run.finished", { state: "cancelled" });
      return { task: state.change(id, { run_state: "cancelled" }) };
    },
  ],
  [
    "POST",
    /^\/v1\/tasks\/([^/]+)\/archive$/,
    (state, [id = ""], query) => ({
      task: state.change(id, { archived_at: query["restore"] === true ? undefined : "2026-11-30T12:00:00.000Z" }),
    }),
  ],
  [
    "GET",
    /^\/v1\/tasks\/([^/]+)\/runs$/,
    (state, [id = ""]) => ({
      runs: [...state.runs.values()].filter((run) => run.id === state.task(id).run_id),
      next_cursor: "",
    }),
  ],
  [
    "GET",
    /^\/v1\/tasks\/([^/]+)\/activity$/,
    (state, [id = ""]) => ({ entries: state.activity.get(state.task(id).id) ?? [], next_cursor: "" }),
  ],
  [
    "PUT",
    /^\/v1\/tasks\/([^/]+)\/schedule$/,
    (state, [id = ""], query) => ({ task: state.change(id, { schedule: query["schedule"] as Task["schedule"] }) }),
  ],
  [
    "DELETE",
    /^\/v1\/tasks\/([^/]+)\/schedule$/,
    (state, [id = ""]) => ({ task: state.change(id, { schedule: undefined }) }),
  ],
  [
    "POST",
    /^\/v1\/schedules\/preview$/,
    (_state, _path, query) => {
      if (query["cron"] === "99 * * * *")
        throw new Refusal(400, "invalid_argument", "minute 99 is not between 0 and 59");
      return { times: ["2026-12-01T09:00:00.000Z", "2026-12-02T09:00:00.000Z"] };
    },
  ],
  [
    "GET",
    /^\/v1\/tasks\/([^/]+)\/agent$/,
    (state, [id = ""]) => ({
      name: state.task(id).title,
      description: "",
      instructions: "Do it again.",
      examples: "",
      files: [],
    }),
  ],
  [
    "POST",
    /^\/v1\/tasks\/([^/]+)\/promote$/,
    (_state, _path, query) => ({ agent: { id: "agent-1", name: query["name"], version: 1 } }),
  ],
  ["GET", /^\/v1\/workspaces\/[^/]+\/shares$/, (state) => ({ shares: state.shares })],
  [
    "POST",
    /^\/v1\/workspaces\/[^/]+\/shares$/,
    (state, _path, query) => {
      const share = { id: "shr_1", kind: "task", target: text(query["task"]), title: "", access: "view" };
      state.shares = [{ ...share, created_by: "ada", created_at: "2026-11-30T12:00:00.000Z", opened: 0 }];
      return { share: state.shares[0], code: "abc", url: "https://mesh.example/s/abc" };
    },
  ],
  [
    "GET",
    /^\/v1\/shares\/([^/]+)$/,
    (state, [code]) => {
      if (code !== "abc") throw new Refusal(404, "not_found", "there is no such link");
      return {
        kind: state.sharedAccess === "run" ? "agent" : "task",
        title: "A shared task",
        description: "",
        access: state.sharedAccess,
        summary: "It is done.",
        run_state: "succeeded",
        messages: [
          {
            role: "user",
            at: "2026-11-30T12:00:00.000Z",
            message: { type: "text", props: { content: "Count to three" } },
          },
          {
            role: "assistant",
            at: "2026-11-30T12:00:00.000Z",
            message: { type: "text", props: { content: "# Done\n\n1. one\n2. two\n3. three" } },
          },
        ],
      };
    },
  ],
  ["POST", /^\/v1\/shares\/([^/]+)\/runs$/, () => ({ run: "run_shared" })],
  [
    "GET",
    /^\/v1\/shares\/([^/]+)\/runs\/([^/]+)$/,
    () => ({ state: "succeeded", output: "The **answer**", error: undefined }),
  ],
  ["GET", /^\/v1\/workspaces\/[^/]+\/assistants$/, () => ({ assistants: [HELPER] })],
  [
    "POST",
    /^\/v1\/workspaces\/[^/]+\/uploads$/,
    (state, _path, query) => {
      state.uploads.push(text(query["name"]));
      return { upload: `upl_${state.uploads.length}`, media_type: "text/plain", size_bytes: 3 };
    },
  ],
  ["GET", /^\/v1\/runs\/([^/]+)$/, (state, [id = ""]) => ({ run: state.runs.get(id) })],
  [
    "GET",
    /^\/v1\/runs\/([^/]+)\/events$/,
    (state, [id = ""], query) => {
      const after = Number(query["after_seq"] ?? 0);
      const events = state.eventsOf(id).slice(after, after + Number(query["limit"] ?? 500));
      return { events, last_seq: after + events.length, ended: state.isEnded(id) };
    },
  ],
  ["GET", /^\/v1\/inbox$/, (state, _path, query) => inbox(state, query)],
  ["POST", /^\/v1\/inbox$/, (state, _path, query) => markInbox(state, query)],
  ...THING_ROUTES,
  ...EVAL_ROUTES,
];
