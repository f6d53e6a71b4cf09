/** The `workspace_files` tool: files of the workspace on every device, by way of the coordinator. */

import { type AgentTool, textArgument, textOutput, type ToolOutput } from "@mesh/agent";
import { isObject, type JsonObject, MeshError } from "@mesh/kernel";
import type { StatePort } from "@mesh/runtime";

const MAX_TEXT_BYTES = 256 * 1024;
const MAX_SHOWN = 200;

const PARAMETERS: JsonObject = {
  type: "object",
  properties: {
    action: { type: "string", enum: ["list", "search", "read"] },
    path: { type: "string", description: "Directory to list, or file to read; relative to the workspace." },
    query: { type: "string", description: "Words of the path, to search." },
    device: {
      type: "string",
      description: "Name of a device; all of them, or the one that has the file, when absent.",
    },
    offset: { type: "integer", minimum: 0, description: "First byte to read." },
  },
  required: ["action"],
};

/** The tool, over the state of a run's workspace. */
export function workspaceFilesTool(state: StatePort): AgentTool {
  return {
    name: "workspace_files",
    description:
      "List, search or read files of this workspace on all of its devices, also on others than this one. Files of this device are read faster with read_file.",
    parameters: PARAMETERS,
    repeatable: true,
    execute: (args, { signal }) => (args["action"] === "read" ? read(state, args, signal) : list(state, args, signal)),
  };
}

async function list(state: StatePort, args: JsonObject, signal: AbortSignal): Promise<ToolOutput> {
  const query = textArgument(args, "query");
  const request = {
    path: textArgument(args, "path"),
    node: textArgument(args, "device"),
    query,
    recursive: query !== "",
  };
  const found = await state.call("files", "List", [request], signal);
  const files = Array.isArray(found) ? found.filter(isObject) : [];
  if (files.length === 0) return textOutput("No such files on any device.");
  const lines = files.slice(0, MAX_SHOWN).map(lineOf);
  const rest =
    files.length > MAX_SHOWN ? [`… and ${files.length - MAX_SHOWN} more; name a directory or more words`] : [];
  return textOutput([...lines, ...rest].join("\n"));
}

function lineOf(file: Readonly<Record<string, unknown>>): string {
  const what = file["is_directory"] === true ? "directory" : `${Number(file["size_bytes"])} bytes`;
  const since = textIn(file, "offline_since");
  return `${textIn(file, "path")}\t${what}\ton ${textIn(file, "node")}${since === "" ? "" : `, off since ${since}`}`;
}

function textIn(value: unknown, name: string): string {
  const text = isObject(value) ? value[name] : undefined;
  return typeof text === "string" ? text : "";
}

async function read(state: StatePort, args: JsonObject, signal: AbortSignal): Promise<ToolOutput> {
  const path = textArgument(args, "path");
  if (path === "") throw new MeshError("invalid_argument", "name the file to read with path");
  const offset = typeof args["offset"] === "number" ? args["offset"] : 0;
  const request = { path, node: textArgument(args, "device"), offset, limit: MAX_TEXT_BYTES };
  const answer = await state.call("files", "Read", [request], signal);
  const { file, base64, last_known_text: known } = isObject(answer) ? answer : {};
  if (typeof known === "string") return textOutput(`${textIn(answer, "reason")}\nIts last known text:\n\n${known}`);
  const bytes = Buffer.from(typeof base64 === "string" ? base64 : "", "base64");
  if (bytes.includes(0)) {
    throw new MeshError("failed_precondition", `${path} is no text; copy it to this device with: yao files cp`);
  }
  const total = isObject(file) ? Number(file["size_bytes"]) : bytes.length;
  const end = offset + bytes.length;
  const more = end < total ? `\n\n[bytes ${offset} to ${end} of ${total}; go on with offset ${end}]` : "";
  // A character that the part cuts is shown as a replacement, not as an error.
  return textOutput(new TextDecoder().decode(bytes) + more);
}
