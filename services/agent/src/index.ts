/** The agent loop: messages, tools, queues, limits, compaction. */

export { startRun, continueRun, resumeRun } from "./run.ts";
