export type { DeltaAction, OutputMessage, RunOutcome, Usage } from "./message.ts";
