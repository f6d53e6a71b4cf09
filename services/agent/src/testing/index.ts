export { type Bench, bench, scriptedTool, transcriptFaults } from "./harness.ts";
export { type ScriptedCall, ScriptedProvider, type ScriptedStep, scriptedModel } from "./scripted-provider.ts";
