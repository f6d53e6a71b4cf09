/** `yao runs`: looks at runs, follows, cancels and retries them. */

import type {
  CancelRunResponse,
  GetRunResponse,
  ListRunsResponse,
  PlacementReason,
  RetryRunResponse,
  Run,
} from "@mesh/proto";
import type { Command } from "commander";

import { type Cli, clientOf, type CommonFlags, print, targetOf, type WorkspaceFlags } from "../cli.ts";
import { apiPath, Client } from "../client/client.ts";
import { type Builder, group, leaf, whole, WORKSPACE_FLAG } from "../command.ts";
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

/** The group. */
export function runsCommand(builder: Builder): Command {
  return group("runs", "List, show, follow, cancel and retry runs.", [
    listCommand(builder),
    showCommand(builder),
    followCommand(builder),
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
