/** `yao task run`, `input`, `follow` and `stop`: the work of a task, watched live. */

import type {
  GetRunResponse,
  GetTaskResponse,
  SendToTaskResponse,
  StartTaskResponse,
  StopTaskResponse,
  Task,
} from "@mesh/proto";
import { type Command, InvalidArgumentError } from "commander";

import { type Cli, print, type WorkspaceFlags } from "../cli.ts";
import { apiPath } from "../client/client.ts";
import { type Builder, leaf } from "../command.ts";
import { givenText, MAX_INPUT_BYTES } from "../given-text.ts";
import { parseObject } from "../run/question.ts";
import { watchRun } from "../run/run-session.ts";
import { TASK_FLAGS, taskOf, type TaskTarget, taskTarget } from "./task-client.ts";

/** What commands that watch a run return. */
export const EXITS = "Exit codes: 0 succeeded, 1 failed, 2 wrong usage, 3 waits for an answer, 130 cancelled.";

/** Watches the newest run of a task. */
export async function watch(
  cli: Cli,
  flags: WorkspaceFlags,
  { client }: TaskTarget,
  { task, isOurs, afterSeq }: { readonly task: Task; readonly isOurs: boolean; readonly afterSeq?: number },
): Promise<number | undefined> {
  if (task.run_id === undefined) {
    print(
      cli,
      flags,
      { task },
      () => `${task.key} has no run: ${task.run_reason === "" ? "start it with `yao task run`" : task.run_reason}\n`,
    );
    return task.run_state === "failed" ? 1 : undefined;
  }
  return watchRun(
    { client, terminal: cli.terminal, interrupts: cli.interrupts, clock: cli.clock },
    { run: task.run_id, isJson: flags.json === true, isOurs, ...(afterSeq === undefined ? {} : { afterSeq }) },
  );
}

interface RunFlags extends WorkspaceFlags {
  readonly fresh?: boolean;
  readonly detach?: boolean;
}

/** `yao task run`. */
export function runCommand(builder: Builder): Command {
  return leaf<RunFlags>(builder, {
    name: "run <task>",
    text: `Start a task's next run and watch it; one that is at work is watched. What it asks is asked here. ${EXITS}`,
    examples: ["yao task run T-12", "yao task run T-12 --fresh --detach"],
    flags: [
      ...TASK_FLAGS,
      { flags: "--fresh", text: "begin anew, without what was said so far" },
      { flags: "--detach", text: "do not watch" },
    ],
    action: async (cli, [name = ""], flags) => {
      const target = taskTarget(cli, flags);
      const answer = await target.client.post<StartTaskResponse>(apiPath`/v1/tasks/${target.ref(name)}/start`, {
        body: { fresh: flags.fresh === true },
      });
      const task = taskOf(answer);
      if (flags.detach === true) {
        print(
          cli,
          flags,
          answer,
          () => `${task.key} ${task.run_state}${task.run_reason === "" ? "" : `: ${task.run_reason}`}\n`,
        );
        return undefined;
      }
      if (task.run_state === "blocked") {
        print(cli, flags, answer, () => `${task.key} starts by itself later: it ${task.run_reason}\n`);
        return undefined;
      }
      if (flags.json !== true)
        cli.terminal.progress(`${task.key} ${answer.started ? "started" : "is at work already"}`);
      return watch(cli, flags, target, { task, isOurs: answer.started });
    },
  });
}

interface InputFlags extends WorkspaceFlags {
  readonly call?: string;
  readonly approve?: boolean;
  readonly deny?: boolean;
  readonly edit?: Readonly<Record<string, unknown>>;
  readonly hold?: boolean;
  readonly follow?: boolean;
}

/** `yao task input`. */
export function inputCommand(builder: Builder): Command {
  return leaf<InputFlags>(builder, {
    name: "input <task> [text]",
    text: `Say something to a task: it answers what it asks, or starts the next run, or waits until the run at work has ended. ${EXITS}`,
    examples: [
      'yao task input T-12 "The second hotel"',
      "yao task input T-12 --approve",
      "yao task input T-12 @more.md --follow",
    ],
    flags: [
      ...TASK_FLAGS,
      { flags: "--approve", text: "approve what it asks" },
      { flags: "--deny", text: "refuse what it asks; the text says why" },
      { flags: "--edit <json>", text: "approve with these arguments instead", parse: objectOf },
      { flags: "--call <id>", text: "which of several questions is answered" },
      { flags: "--hold", text: "keep the message for the next run without starting it" },
      { flags: "--follow", text: "watch what comes of it" },
    ],
    action: input,
  });
}

async function input(cli: Cli, [name = "", text]: readonly string[], flags: InputFlags): Promise<number | undefined> {
  const decision = decisionOf(flags, text);
  const target = taskTarget(cli, flags);
  const said = text === undefined ? "" : await givenText(cli, text, MAX_INPUT_BYTES);
  const before =
    flags.follow === true
      ? taskOf(await target.client.get<GetTaskResponse>(apiPath`/v1/tasks/${target.ref(name)}`))
      : undefined;
  const answer = await target.client.post<SendToTaskResponse>(apiPath`/v1/tasks/${target.ref(name)}/messages`, {
    body: {
      text: said,
      decision,
      call_id: flags.call ?? "",
      ...(flags.edit === undefined ? {} : { arguments: flags.edit }),
      hold: flags.hold === true,
    },
    headers: { "idempotency-key": cli.ids.next("req") },
  });
  const task = taskOf(answer);
  if (flags.follow !== true) {
    print(cli, flags, answer, () => `${task.key}: ${answer.effect}\n`);
    return undefined;
  }
  if (flags.json !== true) cli.terminal.progress(`${task.key}: ${answer.effect}`);
  // Of a run that goes on, only what comes now is news.
  const isSame = before?.run_id !== undefined && before.run_id === task.run_id;
  const afterSeq = isSame ? await lastSeq(target, before.run_id) : undefined;
  return watch(cli, flags, target, { task, isOurs: false, ...(afterSeq === undefined ? {} : { afterSeq }) });
}

function decisionOf(flags: InputFlags, text: string | undefined): string {
  const decisions = [
    flags.approve === true ? "approve" : "",
    flags.deny === true ? "deny" : "",
    flags.edit === undefined ? "" : "edit",
  ];
  const [decision = "", more] = decisions.filter((word) => word !== "");
  if (more !== undefined) throw new InvalidArgumentError("choose one of --approve, --deny and --edit.");
  if (text === undefined && decision === "")
    throw new InvalidArgumentError("give a text, or one of --approve, --deny and --edit.");
  return decision;
}

async function lastSeq({ client }: TaskTarget, run: string | undefined): Promise<number> {
  const { run: found } = await client.get<GetRunResponse>(apiPath`/v1/runs/${run ?? ""}`);
  return found?.last_seq ?? 0;
}

/** `yao task follow`. */
export function followCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "follow <task>",
    text: `Watch the newest run of a task; leaving does not stop it. ${EXITS}`,
    examples: ["yao task follow T-12", "yao task follow T-12 --json"],
    flags: TASK_FLAGS,
    action: async (cli, [name = ""], flags) => {
      const target = taskTarget(cli, flags);
      const answer = await target.client.get<GetTaskResponse>(apiPath`/v1/tasks/${target.ref(name)}`);
      return watch(cli, flags, target, { task: taskOf(answer), isOurs: false });
    },
  });
}

/** `yao task stop`. */
export function stopCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "stop <task>",
    text: "Cancel the run of a task, its retries and its next start.",
    examples: ["yao task stop T-12"],
    flags: TASK_FLAGS,
    action: async (cli, [name = ""], flags) => {
      const { client, ref } = taskTarget(cli, flags);
      const answer = await client.post<StopTaskResponse>(apiPath`/v1/tasks/${ref(name)}/stop`, { body: {} });
      print(cli, flags, answer, () => `${taskOf(answer).key} ${taskOf(answer).run_state}\n`);
      return undefined;
    },
  });
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  const value = parseObject(text);
  if (value !== undefined) return value;
  throw new InvalidArgumentError(`"${text}" must be a JSON object.`);
}
