/** The run's files and commands on its node: `ctx.computer`, `ctx.workspace`, and `ctx.sandbox`, their older name. */

import { api, jsonOf, numberOf, optionalText, textOf } from "./api.ts";
import { invoke } from "./bridge.ts";
import type { Json, JsonObject } from "@mesh/kernel";

type Methods = Record<string, unknown>;

/** `ctx.sandbox`. */
export function sandboxOf(seed: JsonObject): Methods {
  return api("ctx.sandbox", {
    __proto__: null,
    ...seed,
    ReadFile: (path: unknown) => invoke("sandbox.ReadFile", textOf(path, "ctx.sandbox.ReadFile: the path")),
    WriteFile: (path: unknown, content: unknown) =>
      void invoke("sandbox.WriteFile", textOf(path, "ctx.sandbox.WriteFile: the path"), contentOf(content)),
    ListDir: (path: unknown = ".") => invoke("sandbox.ListDir", textOf(path, "ctx.sandbox.ListDir: the path")),
    Exec: (command: unknown) => invoke("sandbox.Exec", commandOf(command)),
  });
}

/** `ctx.computer`. */
export function computerOf(seed: JsonObject): Methods {
  return api("ctx.computer", {
    __proto__: null,
    ...seed,
    Exec: (command: unknown) => invoke("computer.Exec", commandOf(command)),
    VNC: () => invoke("computer.VNC"),
    Proxy: (port: unknown, path?: unknown) =>
      invoke(
        "computer.Proxy",
        numberOf(port, "ctx.computer.Proxy: the port"),
        optionalText(path, "ctx.computer.Proxy: the path"),
      ),
    Info: () => invoke("computer.Info"),
  });
}

/** `ctx.workspace`. */
export function workspaceOf(seed: JsonObject): Methods {
  const path = (value: unknown): string => textOf(value, "ctx.workspace: the path");
  return api("ctx.workspace", {
    __proto__: null,
    ...seed,
    ReadFile: (name: unknown) => invoke("workspace.ReadFile", path(name)),
    ReadFileBase64: (name: unknown) => invoke("workspace.ReadFileBase64", path(name)),
    WriteFile: (name: unknown, content: unknown) => void invoke("workspace.WriteFile", path(name), contentOf(content)),
    WriteFileBase64: (name: unknown, content: unknown) =>
      void invoke(
        "workspace.WriteFileBase64",
        path(name),
        textOf(content, "ctx.workspace.WriteFileBase64: the content"),
      ),
    ReadDir: (name: unknown = ".") => invoke("workspace.ReadDir", path(name)),
    MkdirAll: (name: unknown) => void invoke("workspace.MkdirAll", path(name)),
    Remove: (name: unknown) => void invoke("workspace.Remove", path(name)),
    RemoveAll: (name: unknown) => void invoke("workspace.RemoveAll", path(name)),
    Rename: (from: unknown, to: unknown) => void invoke("workspace.Rename", path(from), path(to)),
    Copy: (from: unknown, to: unknown) => void invoke("workspace.Copy", path(from), path(to)),
    Stat: (name: unknown) => invoke("workspace.Stat", path(name)),
    Exists: (name: unknown) => invoke("workspace.Exists", path(name)) === true,
  });
}

function contentOf(value: unknown): string {
  return typeof value === "string" ? value : stringify(jsonOf(value));
}

function stringify(value: Json): string {
  return JSON.stringify(value, null, 2);
}

/** Words, or a line that is split at spaces outside of quotes. */
function commandOf(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.map(String);
  const words = textOf(value, "the command").match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
  return words.map((word) => (/^(["']).*\1$/s.test(word) ? word.slice(1, -1) : word));
}
