export type { DeltaAction, OutputMessage, RunOutcome, Usage } from "./message.ts";
export type { Emit } from "./output-queue.ts";
export { runAssistant } from "./run-assistant.ts";
export type { RunContext, RunInput, RunPorts } from "./run-input.ts";
