/** What the fake coordinator knows, and how it changes. */

import type {
  Account,
  Activity,
  Board,
  FeedEvent,
  InboxEntry,
  PendingItem,
  Run,
  RunEvent,
  Share,
  Task,
  TaskMessage,
} from "@mesh/proto";

import { FakeEvals } from "./fake-evals.ts";
import { FakeThings } from "./fake-things.ts";

/** Path, query and body of a call, put together. */
export type Query = Readonly<Record<string, unknown>>;

/** What a call answers. */
export type Answer = Readonly<Record<string, unknown>>;

/** An error answer. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  /** `details.errors` is what is said about single fields. */
  constructor(status: number, code: string, message: string, details?: Readonly<Record<string, unknown>>) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

const AT = "2026-11-30T12:00:00.000Z";

/** The five columns of a new board. */
export const COLUMNS = [
  ["backlog", "Backlog"],
  ["todo", "To do"],
  ["in_progress", "In progress"],
  ["in_review", "In review"],
  ["done", "Done"],
] as const;

/** A rank that sorts as the number does. */
export function rankOf(n: number): string {
  return String(Math.round(n * 1_000)).padStart(12, "0");
}

/** The state; every change is told to the feed. */
export class FakeState {
  readonly things: FakeThings = new FakeThings();
  readonly evals: FakeEvals = new FakeEvals();
  isLoggedIn = true;
  readonly csrfToken = "csrf-1";
  readonly account: { -readonly [Key in keyof Account]: Account[Key] } = {
    id: "usr_1",
    name: "ada",
    display_name: "Ada",
    is_admin: true,
    has_password: true,
    locale: "",
    theme: "",
    preferences_json: "",
    created_at: AT,
    disabled: false,
  };
  readonly board: Board = {
    id: "brd_1",
    workspace_id: "ws_1",
    name: "Work",
    columns: COLUMNS.map(([category, name]) => ({ id: `col_${category}`, name, category, wip_limit: 0, tasks: 0 })),
    revision: 1,
    created_at: AT,
    auto_move: true,
  };
  readonly tasks = new Map<string, Task>();
  readonly messages = new Map<string, TaskMessage[]>();
  readonly runs = new Map<string, Run>();
  readonly events = new Map<string, RunEvent[]>();
  readonly activity = new Map<string, Activity[]>();
  readonly feed: FeedEvent[] = [];
  inbox: InboxEntry[] = [];
  shares: Share[] = [];
  readonly uploads: string[] = [];
  /** Messages of the conversation that a share shows. */
  sharedAccess = "view";
  onFeed: (event: FeedEvent) => void = () => undefined;
  onRunEvent: (event: RunEvent) => void = () => undefined;
  #count = 0;

  get feedSeq(): number {
    return this.feed.length;
  }

  /** Adds tasks, spread over the columns. */
  seed(count: number): void {
    for (let n = 1; n <= count; n += 1) {
      const [category] = COLUMNS[(n - 1) % COLUMNS.length] ?? COLUMNS[0];
      this.addTask({ title: `Task number ${n}`, column_id: `col_${category}`, category });
    }
  }

  /** Adds a task without telling the feed. */
  addTask(given: Partial<Task> = {}): Task {
    this.#count += 1;
    const n = this.#count;
    const task: Task = {
      id: `task_${n}`,
      key: `T-${n}`,
      workspace_id: "ws_1",
      board_id: "brd_1",
      column_id: "col_todo",
      category: "todo",
      title: `Task ${n}`,
      description: "",
      summary: "",
      outputs: [],
      priority: "none",
      labels: [],
      assistant: "helper",
      assignee: "",
      placement: undefined,
      blocked_by: [],
      blocks: [],
      revision: 1,
      rank: rankOf(n),
      run_state: "idle",
      run_reason: "",
      attempts: 0,
      pending: [],
      last_line: "",
      schedule: undefined,
      max_retries: 0,
      usage: undefined,
      created_by: "ada",
      created_at: AT,
      updated_at: AT,
      ...given,
    };
    this.tasks.set(task.id, task);
    this.messages.set(task.id, []);
    return task;
  }

  /** A task by id or key. */
  task(id: string): Task {
    const task = this.tasks.get(id) ?? [...this.tasks.values()].find(({ key }) => key === id);
    if (task === undefined) throw new Refusal(404, "not_found", `there is no task ${id}`);
    return task;
  }

  /** Changes a task as somebody else would: the revision grows, the feed tells. */
  change(id: string, change: Partial<Task>): Task {
    const before = this.task(id);
    const task = { ...before, ...change, revision: before.revision + 1, updated_at: new Date().toISOString() };
    this.tasks.set(task.id, task);
    this.tell("task.changed", task.id, { ...task, pending: [] });
    return task;
  }

  /** Tells the feed. */
  tell(kind: string, object: string, data: Readonly<Record<string, unknown>>): void {
    const event: FeedEvent = { seq: this.feed.length + 1, at: new Date().toISOString(), kind, object, data };
    this.feed.push(event);
    this.onFeed(event);
  }

  /** Starts a run of a task. */
  startRun(id: string): Run {
    const task = this.task(id);
    const run: Run = {
      id: `run_${this.runs.size + 1}`,
      workspace_id: "ws_1",
      assistant: task.assistant,
      state: "running",
      reason: "",
      input: "",
      node_id: "node_1",
      node: "laptop",
      epoch: 1,
      attempt: 1,
      last_seq: 0,
      created_at: AT,
      started_at: AT,
      requirements: undefined,
      placement: {
        summary: "laptop has the most free slots",
        candidates: [
          { node: "laptop", eligible: true, reason: "chosen: most free slots" },
          { node: "server", eligible: false, reason: "offline since yesterday" },
        ],
        decided_at: AT,
      },
      error: undefined,
      output: "",
      cancel_requested: false,
      app: "demo",
      app_version: 1,
      usage: undefined,
      created_by: "ada",
      pending: [],
    };
    this.runs.set(run.id, run);
    this.events.set(run.id, []);
    this.change(id, { run_id: run.id, run_state: "running", node: "laptop", attempts: task.attempts + 1 });
    return run;
  }

  /** Events of a run. */
  eventsOf(run: string): readonly RunEvent[] {
    return this.events.get(run) ?? [];
  }

  isEnded(run: string): boolean {
    return ["succeeded", "failed", "cancelled"].includes(this.runs.get(run)?.state ?? "");
  }

  /** Adds an event to a run and tells who follows. */
  emit(run: string, kind: string, data: Readonly<Record<string, unknown>>): void {
    const events = this.events.get(run) ?? [];
    const event: RunEvent = { run_id: run, seq: events.length + 1, epoch: 1, at: new Date().toISOString(), kind, data };
    events.push(event);
    const known = this.runs.get(run);
    const state = kind === "run.finished" ? String(data["state"]) : known?.state;
    if (known !== undefined) this.runs.set(run, { ...known, last_seq: event.seq, state: state ?? known.state });
    this.onRunEvent(event);
  }

  /** Begins a streamed text; returns how to go on. */
  say(run: string, id: string, type = "text"): { add: (piece: string) => void; end: () => void } {
    let content = "";
    const lifecycle = (event: string, data: Readonly<Record<string, unknown>>): void =>
      this.emit(run, "message", { type: "event", props: { event, data: { message_id: id, type, ...data } } });
    lifecycle("message_start", {});
    return {
      add: (piece) => {
        content += piece;
        this.emit(run, "message", { type, delta: true, props: { content: piece }, message_id: id });
      },
      end: () => lifecycle("message_end", { status: "completed", extra: { content } }),
    };
  }

  /** Lets a run ask. */
  ask(id: string, item: PendingItem): void {
    const { run_id: run } = this.task(id);
    this.change(id, { run_state: "waiting", run_reason: "waits for an answer", pending: [item] });
    if (run !== undefined) this.emit(run, "run.asked", { pending: [item] });
  }

  /** Adds a whole message to a conversation. */
  addMessage(id: string, role: string, message: Readonly<Record<string, unknown>>): void {
    const list = this.messages.get(this.task(id).id) ?? [];
    list.push({ seq: list.length + 1, role, author: role === "user" ? "Ada" : "helper", at: AT, message });
  }
}
