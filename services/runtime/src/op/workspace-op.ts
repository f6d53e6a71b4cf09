/** `ctx.workspace`, `ctx.computer` and their earlier name `ctx.sandbox`: files and commands of the workspace on its node. */

import { type Json, type JsonObject, MeshError } from "@mesh/kernel";

import type { AgentContext } from "../agent-context.ts";
import type { CommandResult, FilePort } from "../file-port.ts";
import type { OpHandlers } from "./op-table.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Handlers of files and commands. */
export const WORKSPACE_OPS: OpHandlers = {
  "sandbox.ReadFile": ({ context }, [path]) => readText(context, path),
  "sandbox.WriteFile": ({ context }, [path, content]) => done(filesOf(context).write(path, encoder.encode(content))),
  "sandbox.ListDir": ({ context }, [path]) => listDir(context, path),
  "sandbox.Exec": async ({ context }, [command], io) => {
    // The older form gives the output itself, and throws for a command that failed.
    const { stdout, stderr, exitCode } = await filesOf(context).exec(command, io.signal);
    if (exitCode === 0) return stdout;
    throw new MeshError(
      "failed_precondition",
      `${command[0] ?? "the command"} ended with ${exitCode}: ${stderr || stdout}`,
    );
  },
  "computer.Exec": async ({ context }, [command], io) => resultOf(await filesOf(context).exec(command, io.signal)),
  "computer.VNC": () => unavailable("a screen"),
  "computer.Proxy": () => unavailable("a proxy to a port"),
  "computer.Info": ({ context }) => {
    const { os, arch, hostname, cpus } = filesOf(context).describe();
    return { kind: "host", node_id: hostname, status: "running", system: { os, arch, hostname, num_cpu: cpus } };
  },
  "workspace.ReadFile": ({ context }, [path]) => readText(context, path),
  "workspace.ReadFileBase64": async ({ context }, [path]) =>
    Buffer.from(await filesOf(context).read(path)).toString("base64"),
  "workspace.WriteFile": ({ context }, [path, content]) => done(filesOf(context).write(path, encoder.encode(content))),
  "workspace.WriteFileBase64": ({ context }, [path, content]) =>
    done(filesOf(context).write(path, Buffer.from(content, "base64"))),
  "workspace.ReadDir": ({ context }, [path]) => listDir(context, path),
  "workspace.MkdirAll": ({ context }, [path]) => done(filesOf(context).makeDir(path)),
  "workspace.Remove": ({ context }, [path]) => done(filesOf(context).remove(path, { recursive: false })),
  "workspace.RemoveAll": ({ context }, [path]) => done(filesOf(context).remove(path, { recursive: true })),
  "workspace.Rename": ({ context }, [from, to]) => done(filesOf(context).rename(from, to)),
  "workspace.Copy": ({ context }, [from, to]) => done(filesOf(context).copy(from, to)),
  "workspace.Stat": async ({ context }, [path]) => {
    const facts = await filesOf(context).stat(path);
    if (facts === undefined) throw new MeshError("not_found", `the workspace has no file ${path}`);
    return { name: facts.name, size: facts.size, is_dir: facts.isDir, mode: facts.mode, mtime: facts.mtimeMs };
  },
  "workspace.Exists": async ({ context }, [path]) => (await filesOf(context).stat(path)) !== undefined,
  "fs.Call": (_caller, [root]) => {
    throw new MeshError("unimplemented", `FS("${root}") is not available in a run; use ctx.workspace`);
  },
};

function filesOf({ shared }: AgentContext): FilePort {
  const { files } = shared.ports;
  if (files !== undefined) return files;
  throw new MeshError("failed_precondition", "this run has no workspace folder");
}

async function readText(context: AgentContext, path: string): Promise<string> {
  const bytes = await filesOf(context).read(path);
  try {
    return decoder.decode(bytes);
  } catch {
    throw new MeshError("invalid_argument", `${path} is not UTF-8 text; read it with ReadFileBase64`);
  }
}

async function listDir(context: AgentContext, path: string): Promise<readonly JsonObject[]> {
  const entries = await filesOf(context).list(path);
  return entries.map(({ name, isDir, size }) => ({ name, is_dir: isDir, size }));
}

async function done(work: Promise<void>): Promise<undefined> {
  await work;
  return undefined;
}

function resultOf({ stdout, stderr, exitCode }: CommandResult): JsonObject {
  return { stdout, stderr, exit_code: exitCode };
}

function unavailable(what: string): Json {
  throw new MeshError("unimplemented", `this device offers no ${what} to assistants`);
}
