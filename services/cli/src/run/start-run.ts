/** Starts a run and, unless it is to be left alone, watches it to its end. */

import { Backoff, errorText, type Json, MeshError } from "@mesh/kernel";
import type { CreateRunRequest, CreateRunResponse, Run } from "@mesh/proto";

import { type Cli, print } from "../cli.ts";
import { apiPath, type Client } from "../client/client.ts";
import { type FlagRow, list, pairs, seconds, whole } from "../command.ts";
import { exitCodeOf, type StopSignal } from "../terminal/interrupt.ts";
import { watchRun } from "./run-session.ts";

/** Flags that say how and where an assistant runs. */
export interface StartFlags {
  readonly node?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly os?: string;
  readonly arch?: string;
  readonly tool?: readonly string[];
  readonly timeout?: number;
  readonly queueTimeout?: number;
  readonly connector?: string;
  readonly option?: Readonly<Record<string, string>>;
  readonly meta?: Readonly<Record<string, string>>;
  readonly priority?: number;
  readonly onLost?: string;
}

/** Their rows. */
export const START_FLAGS: readonly FlagRow[] = [
  { flags: "--node <name>", text: "run on this device and nowhere else" },
  { flags: "--label <key=value>", text: "run on a device with this label (repeatable)", parse: pairs },
  { flags: "--os <name>", text: "run on a device with this operating system, such as linux" },
  { flags: "--arch <name>", text: "run on a device with this processor, such as arm64" },
  { flags: "--tool <name>", text: "run on a device that has this command, such as git (repeatable)", parse: list },
  { flags: "--timeout <duration>", text: "time the run may take once started (default: 1h)", parse: seconds },
  { flags: "--queue-timeout <duration>", text: "time it may wait for a device (default: 1d)", parse: seconds },
  { flags: "--connector <id>", text: "model connector to use instead of the assistant's own" },
  { flags: "--option <key=value>", text: "call option, such as temperature=0.2 (repeatable)", parse: pairs },
  {
    flags: "--meta <key=value>",
    text: "data for the assistant's prompts, read as $CTX.key (repeatable)",
    parse: pairs,
  },
  { flags: "--priority <number>", text: "-100 to 100; higher is placed first", parse: whole(-100, 100) },
  { flags: "--on-lost <policy>", text: "when the device is lost: hold, replace or fail" },
];

/** A run to be started. */
export interface Start {
  readonly client: Client;
  readonly workspace: string;
  readonly request: Partial<CreateRunRequest>;
  readonly isJson: boolean;
  /** Whether only its id is printed. */
  readonly isDetached: boolean;
}

const CREATE_ATTEMPTS = 5;

/** Starts it; returns the exit code of {@link watchRun}. Interrupts count from the first moment on. */
export async function startRun(cli: Cli, start: Start): Promise<number> {
  const { client, isJson } = start;
  let stopped: StopSignal | undefined;
  const leave = new AbortController();
  const unlisten = cli.interrupts.listen((signal, count) => {
    stopped ??= signal;
    if (count > 1) leave.abort(new MeshError("cancelled", "interrupted"));
  });
  try {
    const created = await createRun(cli, start, leave.signal);
    if (start.isDetached) {
      print(cli, { json: isJson }, { run: created }, () => `${created.id}\n`);
      return stopped === undefined ? 0 : exitCodeOf(stopped);
    }
    if (!isJson) cli.terminal.progress(created.id);
    // The session listens before this stops listening: an interrupt between the two would be lost, and the run with it.
    return await watchRun(
      { client, terminal: cli.terminal, interrupts: cli.interrupts, clock: cli.clock },
      { run: created.id, isJson, isOurs: true, stopped },
    );
  } finally {
    unlisten();
  }
}

// One key for all attempts: a request whose answer was lost does not start a second run.
async function createRun(
  cli: Pick<Cli, "ids" | "clock" | "terminal">,
  { client, workspace, request }: Start,
  signal: AbortSignal,
): Promise<Run> {
  const key = cli.ids.next("req");
  const backoff = new Backoff(cli.clock, { firstMs: 250, maxMs: 2000 });
  for (let attempt = 1; ; attempt += 1) {
    try {
      const answer = await client.post<CreateRunResponse>(apiPath`/v1/workspaces/${workspace}/runs`, {
        body: request,
        headers: { "idempotency-key": key },
        signal,
      });
      if (answer.run !== undefined) return answer.run;
      throw new MeshError("data_loss", "the coordinator did not name the run it started — see `yao runs list`");
    } catch (error) {
      const failure = MeshError.from(error);
      // Nobody listens there: saying so at once is better than waiting.
      const isRefused = failure.details?.["errno"] === "ECONNREFUSED" && attempt === 1;
      if (failure.code !== "unavailable" || isRefused || attempt >= CREATE_ATTEMPTS) throw failure;
      cli.terminal.progress(`trying again: ${errorText(failure)}`);
      await backoff.wait(signal);
    }
  }
}

/** What the flags ask for. */
export function requestOf(assistant: string, input: string, flags: StartFlags): Partial<CreateRunRequest> {
  const options: Record<string, Json> = {};
  for (const [name, value] of Object.entries(flags.option ?? {})) options[name] = jsonOr(value);
  if (flags.connector !== undefined) options["connector"] = flags.connector;
  return {
    assistant,
    input,
    requirements: {
      node: flags.node ?? "",
      labels: { ...flags.label },
      os: flags.os ?? "",
      arch: flags.arch ?? "",
      tools: flags.tool ?? [],
    },
    ...(Object.keys(options).length === 0 ? {} : { options }),
    ...(flags.meta === undefined ? {} : { metadata: flags.meta }),
    ...(flags.timeout === undefined ? {} : { timeout_seconds: flags.timeout }),
    ...(flags.queueTimeout === undefined ? {} : { queue_ttl_seconds: flags.queueTimeout }),
    ...(flags.priority === undefined ? {} : { priority: flags.priority }),
    ...(flags.onLost === undefined ? {} : { on_lost: flags.onLost }),
  };
}

// Options are numbers and lists as often as words: temperature=0.2, stop=["END"].
function jsonOr(value: string): Json {
  try {
    return JSON.parse(value) as Json;
  } catch {
    return value;
  }
}
