/** What reading and writing files safely takes, without the tools: an idle agent loads no more than it needs. */

export { writeAtomically } from "./atomic-write.ts";
export { PathSandbox, type SandboxOptions } from "./sandbox.ts";
