/** `yao evals`: looks at evals on devices, follows, cancels, resumes, reports and removes them. */

import type { CancelEvalResponse, Eval, ListEvalsResponse, ResumeEvalResponse } from "@mesh/proto";
import type { Command } from "commander";

import { clientOf, type CommonFlags, print, targetOf, type WorkspaceFlags } from "../cli.ts";
import { apiPath, Client } from "../client/client.ts";
import { type Builder, group, leaf, whole, WORKSPACE_FLAG } from "../command.ts";
import { readEval } from "../eval/eval-follow.ts";
import { type FollowFlags, reportEval, type ReportFlags, showEvalLive } from "../eval/eval-show.ts";
import { devicesText } from "../eval/eval-watch.ts";
import { fields, table } from "../terminal/table.ts";

interface ListFlags extends WorkspaceFlags {
  readonly assistant?: string;
  readonly state?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

interface ResumeFlags extends FollowFlags {
  readonly retryErrors?: boolean;
  readonly follow?: boolean;
}

const OUTPUT_FLAG = { flags: "-o, --output <file>", text: "report: .jsonl, .json, .md, .html or .xml" };
const FOLLOW_FLAGS = [
  OUTPUT_FLAG,
  { flags: "-v, --verbose", text: "show outputs" },
  { flags: "--watch", text: "tell what devices do" },
];

/** The group. */
export function evalsCommand(builder: Builder): Command {
  return group("evals", "Look at evals on devices; start one with `yao agent eval … --nodes all`.", [
    listCommand(builder),
    showCommand(builder),
    leaf<FollowFlags>(builder, {
      name: "follow <eval>",
      text: "Watch an eval from its beginning to its end, as `yao agent eval` shows it. Leaving does not stop it.",
      examples: ["yao evals follow eval_01j8x5k2m3n4p5q6r7s8t9v0w1 -o report.html"],
      flags: FOLLOW_FLAGS,
      action: (cli, args, flags) => showEvalLive(cli, args[0] ?? "", flags),
    }),
    leaf<CommonFlags>(builder, {
      name: "cancel <eval>",
      text: "Stop an eval; what has a result keeps it.",
      examples: ["yao evals cancel eval_01j8x5k2m3n4p5q6r7s8t9v0w1"],
      action: async (cli, args, flags) => {
        const id = args[0] ?? "";
        const answer = await clientOf(cli, flags).post<CancelEvalResponse>(apiPath`/v1/evals/${id}/cancel`);
        print(cli, flags, answer, () => `${id} ${answer.eval?.state ?? "was asked to stop"}\n`);
        return undefined;
      },
    }),
    resumeCommand(builder),
    reportCommand(builder),
    leaf<CommonFlags>(builder, {
      name: "remove <eval>",
      text: "Remove an eval that does not run, with its log.",
      examples: ["yao evals remove eval_01j8x5k2m3n4p5q6r7s8t9v0w1"],
      action: async (cli, args, flags) => {
        const id = args[0] ?? "";
        await clientOf(cli, flags).delete(apiPath`/v1/evals/${id}`);
        print(cli, flags, { removed: id }, () => `${id} was removed\n`);
        return undefined;
      },
    }),
  ]);
}

function listCommand(builder: Builder): Command {
  return leaf<ListFlags>(builder, {
    name: "list",
    text: "List evals, the newest first.",
    examples: ["yao evals list", "yao evals list --state running"],
    flags: [
      WORKSPACE_FLAG,
      { flags: "--assistant <id>", text: "only evals of this assistant" },
      { flags: "--state <state>", text: "only evals in this state, such as running or ended" },
      { flags: "--limit <number>", text: "how many (default: 50)", parse: whole(1, 200) },
      { flags: "--cursor <text>", text: "go on where an earlier list ended" },
    ],
    action: async (cli, _args, flags) => {
      const target = targetOf(cli, flags);
      const { assistant, state, limit, cursor } = flags;
      const query = { workspace: target.workspace, assistant, state, page_size: limit, page_token: cursor };
      const answer = await new Client(cli.clock, target).get<ListEvalsResponse>("/v1/evals", { query });
      print(cli, flags, answer, () => listText(answer));
      return undefined;
    },
  });
}

function listText({ evals, next_page_token: next }: ListEvalsResponse): string {
  const text = table(
    evals,
    [
      { title: "eval", value: ({ id }) => id },
      { title: "state", value: ({ state }) => state },
      { title: "assistant", value: ({ assistant }) => assistant },
      { title: "name", value: ({ name }) => name },
      { title: "done", value: doneText },
      { title: "passed", value: ({ counts }) => counts?.passed },
      { title: "created", value: ({ created_at: created }) => created },
      { title: "reason", value: ({ reason }) => reason },
    ],
    "no evals yet; start one with `yao agent eval AGENT @CASES.jsonl --nodes all`",
  );
  return next === "" ? text : `${text}more: yao evals list --cursor ${next}\n`;
}

function doneText({ counts }: Eval): string {
  const { total = 0, passed = 0, failed = 0, errors = 0, timeouts = 0, skipped = 0 } = counts ?? {};
  return `${passed + failed + errors + timeouts + skipped}/${total}`;
}

function showCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "show <eval>",
    text: "Show one eval: its counts and its devices.",
    examples: ["yao evals show eval_01j8x5k2m3n4p5q6r7s8t9v0w1"],
    action: async (cli, args, flags) => {
      const state = await readEval(clientOf(cli, flags), args[0] ?? "");
      print(cli, flags, { eval: state }, () => evalText(state));
      return undefined;
    },
  });
}

function evalText(state: Eval): string {
  const { counts, placement } = state;
  const head = fields([
    ["eval", state.id],
    ["state", state.state],
    ["reason", state.reason],
    ["assistant", state.assistant],
    ["app", state.app],
    ["name", state.name],
    ["cases", state.cases],
    ["done", doneText(state)],
    ["passed", counts?.passed],
    ["failed", counts?.failed],
    ["errors", counts?.errors],
    ["timeouts", counts?.timeouts],
    ["skipped", counts?.skipped],
    ["placement", placement?.mode],
    ["created", state.created_at],
    ["started", state.started_at],
    ["finished", state.finished_at],
    ["created by", state.created_by],
    ["warnings", state.warnings.length === 0 ? undefined : state.warnings.join("; ")],
  ]);
  return `${head}\n${devicesText(state.nodes, true)}`;
}

function resumeCommand(builder: Builder): Command {
  return leaf<ResumeFlags>(builder, {
    name: "resume <eval>",
    text: "Go on with what has no result in an eval that was ended.",
    examples: ["yao evals resume eval_01j8x5k2m3n4p5q6r7s8t9v0w1 --follow"],
    flags: [
      { flags: "--retry-errors", text: "run what ended as an error again, too" },
      { flags: "--follow", text: "watch it" },
      ...FOLLOW_FLAGS,
    ],
    action: async (cli, args, flags) => {
      const id = args[0] ?? "";
      const body = { retry_errors: flags.retryErrors === true };
      const answer = await clientOf(cli, flags).post<ResumeEvalResponse>(apiPath`/v1/evals/${id}/resume`, { body });
      if (flags.follow === true) return showEvalLive(cli, id, flags);
      print(cli, flags, answer, () => `${id} ${answer.eval?.state ?? "goes on"}\n`);
      return undefined;
    },
  });
}

function reportCommand(builder: Builder): Command {
  return leaf<ReportFlags>(builder, {
    name: "report <eval>",
    text: "Write the report of an eval as it is now; --json prints it.",
    examples: [
      "yao evals report eval_01j8x5k2m3n4p5q6r7s8t9v0w1 -o report.html",
      "yao evals report eval_01j8x5k2m3n4p5q6r7s8t9v0w1 -o log.jsonl",
    ],
    flags: [OUTPUT_FLAG],
    action: (cli, args, flags) => reportEval(cli, args[0] ?? "", flags),
  });
}
