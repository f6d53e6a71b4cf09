/** `yao runs`: looks at runs, follows, cancels and retries them. */

import type {
  AnswerRunResponse,
  CancelRunResponse,
  GetRunResponse,
  ListRunsResponse,
  PlacementReason,
  RetryRunResponse,
  Run,
} from "@mesh/proto";
import { MeshError } from "@mesh/kernel";
import { type Command, InvalidArgumentError } from "commander";

import { type Cli, clientOf, type CommonFlags, print, targetOf, type WorkspaceFlags } from "../cli.ts";
import { apiPath, Client } from "../client/client.ts";
import { type Builder, group, leaf, whole, WORKSPACE_FLAG } from "../command.ts";
import { type Answer, parseObject, questionsText } from "../run/question.ts";
import { watchRun } from "../run/run-session.ts";
import { fields, table } from "../terminal/table.ts";
import { plain } from "../terminal/terminal.ts";

interface ListFlags extends WorkspaceFlags {
  readonly state?: string;
  readonly node?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

interface FollowFlags extends CommonFlags {
  readonly after?: number;
}

interface RetryFlags extends CommonFlags {
  readonly follow?: boolean;
}

interface AnswerFlags extends CommonFlags {
  readonly call?: string;
  readonly approve?: boolean;
  readonly deny?: boolean;
  readonly edit?: Readonly<Record<string, unknown>>;
  readonly text?: string;
}

/** The group. */
export function runsCommand(builder: Builder): Command {
  return group("runs", "List, show, follow, answer, cancel and retry runs.", [
    listCommand(builder),
    showCommand(builder),
    followCommand(builder),
    answerCommand(builder),
    cancelCommand(builder),
    retryCommand(builder),
  ]);
}

function listCommand(builder: Builder): Command {
  return leaf<ListFlags>(builder, {
    name: "list",
    text: "List runs, the newest first.",
    examples: ["yao runs list", "yao runs list --state running --node laptop"],
    flags: [
      WORKSPACE_FLAG,
      { flags: "--state <state>", text: "only runs in this state, such as queued or failed" },
      { flags: "--node <name>", text: "only runs of this device" },
      { flags: "--limit <number>", text: "how many (default: 50)", parse: whole(1, 200) },
      { flags: "--cursor <text>", text: "go on where an earlier list ended" },
    ],
    action: async (cli, _args, flags) => {
      const target = targetOf(cli, flags);
      const answer = await new Client(cli.clock, target).get<ListRunsResponse>(
        apiPath`/v1/workspaces/${target.workspace}/runs`,
        { query: { state: flags.state, node: flags.node, limit: flags.limit, cursor: flags.cursor } },
      );
      print(cli, flags, answer, () => listText(answer));
      return undefined;
    },
  });
}

function listText(answer: ListRunsResponse): string {
  const text = table(
    answer.runs,
    [
      { title: "run", value: (run) => run.id },
      { title: "state", value: (run) => run.state },
      { title: "assistant", value: (run) => run.assistant },
      { title: "node", value: (run) => run.node },
      { title: "created", value: (run) => run.created_at },
      { title: "reason", value: (run) => run.error?.message ?? run.reason },
    ],
    'no runs yet; start one with `yao run hello "Hi"`',
  );
  return answer.next_cursor === undefined || answer.next_cursor === ""
    ? text
    : `${text}more: yao runs list --cursor ${plain(answer.next_cursor)}\n`;
}

function showCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "show <run>",
    text: "Show one run: its state, why it is where it is, and why not elsewhere.",
    examples: ["yao runs show run_01j8x5k2m3n4p5q6r7s8t9v0w1"],
    action: async (cli, args, flags) => {
      const answer = await clientOf(cli, flags).get<GetRunResponse>(apiPath`/v1/runs/${args[0] ?? ""}`);
      print(cli, flags, answer, () => (answer.run === undefined ? "" : runText(answer.run)));
      return undefined;
    },
  });
}

/** One run for people. */
export function runText(run: Run): string {
  const { requirements, placement } = run;
  const wanted = Object.entries(requirements?.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  const head = fields([
    ["run", run.id],
    ["state", run.state],
    ["reason", run.reason],
    ["error", run.error === undefined ? undefined : `${run.error.code}: ${run.error.message}`],
    ["assistant", run.assistant],
    ["app", run.app === "" ? undefined : `${run.app} version ${run.app_version}`],
    ["node", run.node],
    ["wanted node", requirements?.node],
    ["wanted labels", wanted.join(", ")],
    ["wanted tools", requirements?.tools?.join(", ")],
    ["attempt", run.attempt],
    ["events", run.last_seq],
    ["created", run.created_at],
    ["started", run.started_at],
    ["finished", run.finished_at],
    ["created by", run.created_by],
    ["retry of", run.retry_of],
  ]);
  const asked = run.pending ?? [];
  if (asked.length > 0) return `${head}\n${questionsText(run.id, asked)}`;
  if (placement === undefined) return head;
  const candidates = table<PlacementReason>(
    placement.candidates,
    [
      { title: "node", value: (row) => row.node },
      { title: "eligible", value: (row) => row.eligible },
      { title: "why", value: (row) => row.reason },
    ],
    "no device has joined yet; let one join with `yao node token create`",
  );
  return `${head}\nplacement: ${plain(placement.summary)}\n${candidates}`;
}

function followCommand(builder: Builder): Command {
  return leaf<FollowFlags>(builder, {
    name: "follow <run>",
    text: "Watch a run live, from its start or from an event on. Leaving does not stop the run.",
    examples: ["yao runs follow run_01j8x5k2m3n4p5q6r7s8t9v0w1", "yao runs follow run_01j8… --json --after 120"],
    flags: [{ flags: "--after <seq>", text: "only events after this one", parse: whole(0, 4_294_967_295) }],
    action: (cli, args, flags) => follow(cli, args[0] ?? "", flags),
  });
}

async function follow(cli: Cli, run: string, flags: FollowFlags): Promise<number> {
  return await watchRun(
    { client: clientOf(cli, flags), terminal: cli.terminal, interrupts: cli.interrupts, clock: cli.clock },
    { run, isJson: flags.json === true, isOurs: false, afterSeq: flags.after ?? 0 },
  );
}

function answerCommand(builder: Builder): Command {
  return leaf<AnswerFlags>(builder, {
    name: "answer <run>",
    text: "Answer what a waiting run asks; it goes on when nothing is open any more.",
    examples: [
      "yao runs answer run_01j8x5k2m3n4p5q6r7s8t9v0w1 --approve",
      'yao runs answer run_01j8… --call call_9 --deny --text "not on a Friday"',
      `yao runs answer run_01j8… --edit '{"command": "ls"}'`,
      'yao runs answer run_01j8… --text "the blue one"',
    ],
    flags: [
      { flags: "--call <id>", text: "what to answer, where it asks several things" },
      { flags: "--approve", text: "let the tool run" },
      { flags: "--deny", text: "do not let it run; --text says why" },
      { flags: "--edit <json>", text: "let it run with these arguments instead", parse: jsonObject },
      { flags: "--text <answer>", text: "the answer to a question" },
    ],
    action: async (cli, args, flags) => {
      const id = args[0] ?? "";
      const decision = decisionOf(flags);
      const client = clientOf(cli, flags);
      const call_id = flags.call ?? (await onlyQuestion(client, id));
      const answer = await client.post<AnswerRunResponse>(apiPath`/v1/runs/${id}/answer`, {
        body: { call_id, ...decision },
      });
      print(cli, flags, answer, () => `${id} ${answer.run?.state ?? "was answered"}\n`);
      return undefined;
    },
  });
}

function decisionOf({ approve, deny, edit, text }: AnswerFlags): Omit<Answer, "call_id"> {
  const given = [approve === true, deny === true, edit !== undefined].filter(Boolean).length;
  if (given > 1) throw new InvalidArgumentError("give only one of --approve, --deny and --edit.");
  if (text !== undefined && (approve === true || edit !== undefined)) {
    throw new InvalidArgumentError("--text goes with --deny, or stands alone.");
  }
  if (approve === true) return { decision: "approve" };
  if (deny === true) return { decision: "deny", ...(text === undefined ? {} : { text }) };
  if (edit !== undefined) return { decision: "edit", arguments: edit };
  if (text !== undefined) return { decision: "answer", text };
  throw new InvalidArgumentError("give --approve, --deny, --edit or --text.");
}

function jsonObject(text: string): Readonly<Record<string, unknown>> {
  const parsed = parseObject(text);
  if (parsed === undefined) throw new InvalidArgumentError(`"${text}" must be a JSON object.`);
  return parsed;
}

async function onlyQuestion(client: Client, id: string): Promise<string> {
  const { run } = await client.get<GetRunResponse>(apiPath`/v1/runs/${id}`);
  const [first, ...more] = run?.pending ?? [];
  if (first === undefined) {
    throw new MeshError(
      "failed_precondition",
      `${id} asks nothing: it is ${run?.state ?? "unknown"} — see \`yao runs show ${id}\``,
    );
  }
  if (more.length === 0) return first.id;
  const ids = [first, ...more].map((item) => `--call ${item.id} (${item.tool})`);
  throw new MeshError("failed_precondition", `${id} asks several things; choose one: ${ids.join(", ")}`);
}

function cancelCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "cancel <run>",
    text: "Ask a run to stop.",
    examples: ["yao runs cancel run_01j8x5k2m3n4p5q6r7s8t9v0w1"],
    action: async (cli, args, flags) => {
      const id = args[0] ?? "";
      const answer = await clientOf(cli, flags).post<CancelRunResponse>(apiPath`/v1/runs/${id}/cancel`);
      print(cli, flags, answer, () => `${id} ${answer.run?.state ?? "was asked to stop"}\n`);
      return undefined;
    },
  });
}

function retryCommand(builder: Builder): Command {
  return leaf<RetryFlags>(builder, {
    name: "retry <run>",
    text: "Start a new run with the same input, and print its id.",
    examples: ["yao runs retry run_01j8x5k2m3n4p5q6r7s8t9v0w1 --follow"],
    flags: [{ flags: "--follow", text: "watch the new run" }],
    action: async (cli, args, flags) => {
      const answer = await clientOf(cli, flags).post<RetryRunResponse>(apiPath`/v1/runs/${args[0] ?? ""}/retry`, {
        headers: { "idempotency-key": cli.ids.next("req") },
      });
      const id = answer.run?.id ?? "";
      if (flags.follow === true) return await follow(cli, id, flags);
      print(cli, flags, answer, () => `${id}\n`);
      return undefined;
    },
  });
}
