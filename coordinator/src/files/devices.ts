/**
 * The devices that hold the files of a workspace, and commands to them.
 *
 * D1  A device is only asked for a workspace that it serves.
 * D2  A device that is off is an error that says since when, and which other devices have the file.
 */

import { type Bus, subjects } from "@mesh/bus";
import { MeshError } from "@mesh/kernel";
import { Command, CommandAnswer, type FileCommand } from "@mesh/proto";
import type { Sql } from "@mesh/store";

import { findNode, listNodes, type NodeRow, statusOfRow } from "../membership/node-store.ts";
import { findFiles, type FileRow } from "./file-store.ts";

/** A device that is asked. */
export interface Device {
  readonly id: string;
  readonly name: string;
  readonly digest: string;
}

/** What the devices are reached with. */
export interface DevicesDeps {
  readonly sql: Sql;
  readonly bus: Bus;
}

/** What is looked for, and where. */
export interface Wanted {
  readonly workspaceId: string;
  readonly path: string;
  /** Name or id; empty for any. */
  readonly node: string;
}

const COMMAND_MS = 15_000;

/** See the file comment. */
export class Devices {
  readonly #deps: DevicesDeps;

  constructor(deps: DevicesDeps) {
    this.#deps = deps;
  }

  /** The device to read a path from. */
  async holding(wanted: Wanted): Promise<Device> {
    const { sql } = this.#deps;
    const files = await findFiles(sql, wanted.workspaceId, wanted.path);
    if (wanted.node !== "") {
      const node = await this.serving(wanted.workspaceId, wanted.node);
      if (isOn(node)) return node;
      throw deviceOff(
        wanted.path,
        node,
        files.filter((file) => file.node_id !== node.id),
      );
    }
    const online = files.find((file) => isOn(file));
    if (online !== undefined) return this.serving(wanted.workspaceId, online.node_id);
    const [newest] = files;
    if (newest !== undefined) throw allOff(wanted.path, files);
    // Not indexed yet, perhaps: where only one device could have it, it is asked.
    const [only, ...more] = (await this.#nodesOf(wanted.workspaceId)).filter((node) => isOn(node));
    if (only !== undefined && more.length === 0) return only;
    throw new MeshError("not_found", `no device has ${wanted.path}; see what there is with: yao files ls`);
  }

  /** The device to write a path to: the one named, else the one that has it, else the only one that is on. */
  async taking(wanted: Wanted): Promise<Device> {
    const { sql } = this.#deps;
    if (wanted.node !== "") {
      const node = await this.serving(wanted.workspaceId, wanted.node);
      if (isOn(node)) return node;
      throw deviceOff(wanted.path, node, []);
    }
    const files = await findFiles(sql, wanted.workspaceId, wanted.path);
    const online = files.filter((file) => isOn(file));
    const [first, second] = online;
    if (first !== undefined && second === undefined) return this.serving(wanted.workspaceId, first.node_id);
    if (first === undefined && files.length > 0) throw allOff(wanted.path, files);
    const nodes = (await this.#nodesOf(wanted.workspaceId)).filter((node) => isOn(node));
    const [only, ...more] = nodes;
    if (first === undefined && only !== undefined && more.length === 0) return only;
    if (only === undefined) {
      throw new MeshError("failed_precondition", "no device of this workspace is on; start one with: yao node run");
    }
    const names = (first === undefined ? nodes.map(({ name }) => name) : online.map(({ node }) => node)).slice(0, 10);
    throw new MeshError("invalid_argument", `name the device with node (--node): it could be ${names.join(", ")}`);
  }

  /** A device by id or name that serves the workspace; unknown and foreign ones are not told apart. */
  async serving(workspaceId: string, ref: string): Promise<NodeRow> {
    const node = await findNode(this.#deps.sql, ref);
    if (node !== undefined && serves(node, workspaceId)) return node;
    throw new MeshError("not_found", `device ${ref.slice(0, 100)} does not serve this workspace; see: yao node list`);
  }

  /** Has a device act on a file; what it refuses is thrown. */
  async command(device: Device, command: FileCommand, signal?: AbortSignal): Promise<CommandAnswer> {
    const data = Command.encode({ command: { $case: "file", value: command } }).finish();
    let answer: CommandAnswer;
    try {
      const options = { timeoutMs: COMMAND_MS, ...(signal === undefined ? {} : { signal }) };
      answer = CommandAnswer.decode(await this.#deps.bus.request(subjects.command(device.digest), data, options));
    } catch (thrown) {
      throw this.#silent(device, thrown);
    }
    if (answer.ok) return answer;
    throw new MeshError("unimplemented", `device ${device.name}: ${answer.message}`);
  }

  async #nodesOf(workspaceId: string): Promise<readonly NodeRow[]> {
    return (await listNodes(this.#deps.sql)).filter((node) => serves(node, workspaceId));
  }

  // Not `unavailable`: that would say that this system is in trouble, and that trying again soon helps.
  #silent({ name }: Device, thrown: unknown): MeshError {
    const error = MeshError.from(thrown);
    if (error.code === "unavailable") {
      return new MeshError(
        "failed_precondition",
        `device ${name} cannot be reached now; look at it with: yao node show ${name}`,
      );
    }
    if (error.code !== "deadline_exceeded") return error;
    return new MeshError("deadline_exceeded", `device ${name} did not answer within ${COMMAND_MS / 1000} s; try again`);
  }
}

/** Whether a device can be asked now. */
export function isOn(row: Pick<FileRow, "age_ms" | "goodbye">): boolean {
  return statusOfRow(row) !== "offline";
}

function serves({ workspace_ids: served }: NodeRow, workspaceId: string): boolean {
  return served.length === 0 || served.includes(workspaceId);
}

function since(at: Date | null): string {
  return at === null ? "" : ` since ${at.toISOString()}`;
}

function deviceOff(path: string, node: NodeRow, others: readonly FileRow[]): MeshError {
  const online = others.filter((file) => isOn(file)).map((file) => file.node);
  const hint =
    online.length > 0
      ? `; ${online.slice(0, 10).join(", ")} ${online.length === 1 ? "has" : "have"} it too`
      : "; its last known text, if it is a document: yao docs list";
  return new MeshError(
    "failed_precondition",
    `device ${node.name} is off${since(node.seen_at)}, and ${path} is on it${hint}`,
    {
      details: { node: node.name, offline_since: node.seen_at?.toISOString() ?? "", online_nodes: online },
    },
  );
}

function allOff(path: string, files: readonly FileRow[]): MeshError {
  const places = files.slice(0, 10).map(({ node, last_at: at }) => `${node}, which is off${since(at)}`);
  return new MeshError(
    "failed_precondition",
    `${path} is on ${places.join("; and on ")}; its last known text, if it is a document: yao docs list`,
    {
      details: {
        nodes: files.slice(0, 10).map(({ node, last_at: at }) => ({ node, offline_since: at.toISOString() })),
      },
    },
  );
}
