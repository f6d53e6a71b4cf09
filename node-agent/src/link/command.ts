/** Commands of the coordinator, mapped to what the parts of this node do. Repeating one is harmless. */

import { errorText } from "@mesh/kernel";
import {
  Command,
  CommandAnswer,
  type FileCommand,
  type RunLease,
  type RunProgress,
  type SteerCommand,
} from "@mesh/proto/wire";

import type { SteeringMessage } from "@mesh/runtime";

import type { RunKey } from "../journal/record.ts";

const MAX_ID_CHARS = 100;
const MAX_STEER_CHARS = 65_536;

/** What commands act on. */
export interface CommandTargets {
  readonly cancel: (run: RunKey, why: string) => boolean;
  /** Says something to a run; false when it is not here or hears nothing more. */
  readonly steer: (run: RunKey, message: SteeringMessage) => boolean;
  readonly drop: (run: RunKey) => void;
  readonly committed: (run: RunKey, n: number, hasEnded: boolean) => void;
  readonly resend: (run: RunKey, fromN: number) => boolean;
  readonly setDraining: (isDraining: boolean) => void;
  readonly handBack: () => void;
  readonly beat: () => void;
  /** Acts on files; what it throws travels to who asked. */
  readonly file: (command: FileCommand) => Promise<CommandAnswer>;
}

/** Executes an encoded command and returns the encoded answer. */
export async function executeCommand(targets: CommandTargets, data: Uint8Array): Promise<Uint8Array> {
  const { command } = Command.decode(data);
  if (command?.$case === "file") return CommandAnswer.encode(await targets.file(command.value)).finish();
  let answer: CommandAnswer;
  try {
    answer = execute(targets, command);
  } catch (error) {
    answer = refused(errorText(error));
  }
  return CommandAnswer.encode(answer).finish();
}

/** Acts on what the coordinator says about one run. */
export function applyLease(targets: CommandTargets, lease: RunLease): void {
  const run = { runId: lease.run_id, epoch: lease.epoch };
  // Only a run that goes on has a lease.
  if (lease.committed_n > 0) targets.committed(run, lease.committed_n, lease.lease_ms === 0);
  if (lease.desired === "drop") targets.drop(run);
  else if (lease.desired === "cancel") targets.cancel(run, "cancelled by the coordinator");
}

function execute(targets: CommandTargets, command: Exclude<Command["command"], { $case: "file" }>): CommandAnswer {
  switch (command?.$case) {
    case "cancel": {
      const isKnown = targets.cancel(keyOf(command.value), command.value.why);
      return isKnown ? DONE : refused("the run is not here");
    }
    case "steer":
      return steer(targets, command.value);
    case "ack":
      for (const run of command.value.runs) targets.committed(keyOf(run), run.last_n, true);
      return DONE;
    case "drain":
      targets.setDraining(command.value.draining);
      if (command.value.hand_back) targets.handBack();
      return DONE;
    case "resend": {
      const isHeld = targets.resend(keyOf(command.value), command.value.from_n);
      return isHeld ? DONE : refused("the run is not here");
    }
    case "poke":
      targets.beat();
      return DONE;
    case undefined:
  }
  return refused("the device does not know this command; update it");
}

function steer(targets: CommandTargets, { message_id: id, text, ...run }: SteerCommand): CommandAnswer {
  if (id === "" || id.length > MAX_ID_CHARS) return refused("the message has no id, or one that is too long");
  if (text === "" || text.length > MAX_STEER_CHARS) return refused("the message is empty or too long");
  return targets.steer(keyOf(run), { id, text }) ? DONE : refused("the run hears nothing now");
}

const DONE: CommandAnswer = CommandAnswer.fromPartial({ ok: true });

function refused(message: string): CommandAnswer {
  return CommandAnswer.fromPartial({ ok: false, message });
}

function keyOf(run: Pick<RunProgress, "run_id" | "epoch">): RunKey {
  return { runId: run.run_id, epoch: run.epoch };
}
