export { LocalState } from "./local-state.ts";
export type { DeltaAction, OutputMessage, RunOutcome, SuspendedRun, Usage } from "./message.ts";
export type { Emit } from "./output-queue.ts";
export type { ItemAnswer, PendingItem } from "./pending.ts";
export { runAssistant } from "./run-assistant.ts";
export type { Resume, RunContext, RunInput, RunPorts } from "./run-input.ts";
export type { StatePort, StateService } from "./state-port.ts";
