/** `yao agent eval … --nodes`: the same eval on the devices of a workspace. */

import type { EvalRequest } from "@mesh/eval/local";
import { InvalidArgumentError } from "commander";

import { type Cli, printJson, targetOf, type WorkspaceFlags } from "../cli.ts";
import { Client } from "../client/client.ts";
import type { FlagRow } from "../command.ts";
import { whole, WORKSPACE_FLAG } from "../command.ts";
import { EvalWatch, devicesText } from "../eval/eval-watch.ts";
import { fleetRemote } from "../eval/fleet-remote.ts";
import { type PlacementFlags, placementOf } from "../eval/placement.ts";
import type { LiveOutput } from "../terminal/live-output.ts";
import type { EvalSetting, EvalFlags } from "./agent-eval.ts";

/** Flags that only evals on devices have. */
export interface FleetFlags extends PlacementFlags, WorkspaceFlags {
  readonly detach?: boolean;
  readonly watch?: boolean;
  readonly rpm?: number;
}

/** Their rows. */
export const FLEET_FLAGS: readonly FlagRow[] = [
  { flags: "--nodes <which>", text: "run on devices: all, a number, NAME,NAME or label=KEY=VALUE" },
  { flags: "--spread", text: "each run of a case on one device (default)" },
  { flags: "--each", text: "every case on every device" },
  { flags: "--mirror <number>", text: "every case on so many devices", parse: whole(2, 16) },
  { flags: "--sticky", text: "all runs of a case on one device" },
  { flags: "--rpm <number>", text: "calls of models per minute, over all devices", parse: whole(1, 1_000_000) },
  { flags: "--watch", text: "tell what devices do" },
  { flags: "--detach", text: "print the id and leave; watch it with `yao evals follow ID`" },
  WORKSPACE_FLAG,
];

/** Runs it and returns the exit code. */
export async function evalOnDevices(
  cli: Cli,
  flags: EvalFlags,
  request: EvalRequest,
  { setting, live }: { readonly setting: EvalSetting; readonly live: LiveOutput },
): Promise<number> {
  const { runRemoteEval } = await import("@mesh/eval/local");
  refuseLocalFlags(flags);
  const placement = placementOf(flags);
  const target = targetOf(cli, flags);
  const client = new Client(cli.clock, target);
  const isJson = flags.json === true;
  const watch = new EvalWatch({ cli, client, isOurs: true, showsDevices: flags.watch === true, isJson, live });
  const remote = fleetRemote({
    cli,
    client,
    workspace: target.workspace,
    placement,
    settings: await settingsOf(flags, request),
    runs: request.runs,
    name: request.inputText,
    isDetached: flags.detach === true,
    signal: watch.signal,
    onPlan: (plan) =>
      live.write(
        isJson
          ? `${JSON.stringify({ type: "plan", ...plan })}\n`
          : planText(plan.units, devicesText(plan.nodes, false)),
      ),
    onStart: (state) => {
      watch.begun(state);
      if (flags.detach !== true)
        cli.terminal.progress(`${state.id} has begun; it is also shown by \`yao evals show ${state.id}\``);
      else if (isJson) printJson(cli, { eval: state });
      else cli.terminal.out(`${state.id}\n`);
    },
    onEval: (state) => watch.changed(state),
  });
  try {
    const { exitCode } = await runRemoteEval(request, setting, remote, watch.signal);
    return watch.exitCode(exitCode);
  } finally {
    watch.close();
  }
}

function planText(units: number, devices: string): string {
  return `\n${devices}${units} ${units === 1 ? "unit" : "units"} in all\n`;
}

function refuseLocalFlags({ resume, regrade, detach, output, reporter }: EvalFlags): void {
  if (resume !== undefined) throw new InvalidArgumentError("--resume is for local logs; use `yao evals resume ID`.");
  if (regrade !== undefined) throw new InvalidArgumentError("--regrade judges answers here; leave --nodes out.");
  if (detach === true && (output !== undefined || reporter !== undefined)) {
    throw new InvalidArgumentError(
      "--detach leaves before there is a report; get it with `yao evals report ID -o FILE`.",
    );
  }
}

async function settingsOf(flags: EvalFlags, request: EvalRequest): Promise<Readonly<Record<string, unknown>>> {
  const { connector, user, team, locale, simulator, before, after, contextFile, cwd } = request;
  const settings = {
    runs: request.runs,
    parallel: request.parallel,
    timeout_ms: request.timeoutMs,
    retries: flags.retries,
    fail_fast: request.failFast,
    connector,
    user,
    team,
    locale,
    simulator,
    before_all: before,
    after_all: after,
    requests_per_minute: flags.rpm,
    context: contextFile === undefined ? undefined : await contextOf(contextFile, cwd),
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

async function contextOf(path: string, cwd: string): Promise<Readonly<Record<string, unknown>>> {
  const { readContextFile } = await import("@mesh/eval/local");
  const { chatId, ...rest } = await readContextFile(path, cwd);
  return { ...rest, ...(chatId === undefined ? {} : { chat_id: chatId }) };
}
