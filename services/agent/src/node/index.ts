/** Tools and stores of the agent loop that need Node: commands, files, search, folders. */

export { writeAtomically } from "./atomic-write.ts";
export { type BashOptions, bashTool } from "./bash.ts";
export { codingTools, type CodingToolOptions } from "./coding-tool.ts";
export { type CommandBounds, type CommandEnd, runCommand } from "./command.ts";
export { editFileTool } from "./edit-file.ts";
export { FileBackend, type FileBackendOptions } from "./file-backend.ts";
export { FileLedger } from "./file-ledger.ts";
export { type FileToolOptions } from "./file-tool.ts";
export { listFilesTool, type ListFilesOptions } from "./list-files.ts";
export { type GroupCommand, type GroupExit, killMarked, ProcessGroup } from "./process-group.ts";
export { readFileTool, type ReadFileOptions } from "./read-file.ts";
export { PathSandbox, type SandboxOptions } from "./sandbox.ts";
export { type SearchOptions, searchTool } from "./search.ts";
export { openSession, type SessionFile } from "./session-file.ts";
export { type LoadedSkills, loadSkills, loadSkillsStrictly, type SkillFault } from "./skill-folder.ts";
export { parseSkill } from "./skill-file.ts";
export { writeFileTool } from "./write-file.ts";
