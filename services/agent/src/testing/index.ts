export { type Bench, bench, historyFaults, scriptedTool, settlesAtOnce, transcriptFaults } from "./harness.ts";
export { type ScriptedCall, ScriptedProvider, type ScriptedStep, scriptedModel } from "./scripted-provider.ts";
