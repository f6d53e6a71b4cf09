/** `yao node`: the devices of the mesh, seen from the coordinator. */

import type {
  CreateJoinTokenResponse,
  DrainNodeResponse,
  GetNodeResponse,
  ListNodesResponse,
  Node,
  UpdateNodeResponse,
} from "@mesh/proto";
import { type Command, InvalidArgumentError } from "commander";

import { type Cli, clientOf, type CommonFlags, print } from "../cli.ts";
import { apiPath } from "../client/client.ts";
import { type Builder, group, leaf, list, pairs, seconds, whole } from "../command.ts";
import { fields, table } from "../terminal/table.ts";
import { plain } from "../terminal/terminal.ts";
import { installCommand, joinCommand, leaveCommand, runCommand, stopCommand } from "./node-device.ts";

interface TokenFlags extends CommonFlags {
  readonly ttl?: number;
  readonly uses?: number;
  readonly label?: Readonly<Record<string, string>>;
  readonly workspaceId?: readonly string[];
}

interface DrainFlags extends CommonFlags {
  readonly deadline?: number;
}

/** The group. */
export function nodeCommand(builder: Builder): Command {
  return group("node", "Join and manage devices.", [
    group("node token", "Tokens that let devices join.", [tokenCommand(builder)]),
    joinCommand(builder),
    runCommand(builder),
    stopCommand(builder),
    leaveCommand(builder),
    installCommand(builder),
    listCommand(builder),
    showCommand(builder),
    drainCommand(builder),
    undrainCommand(builder),
    renameCommand(builder),
    labelCommand(builder),
    removeCommand(builder),
  ]);
}

function tokenCommand(builder: Builder): Command {
  return leaf<TokenFlags>(builder, {
    name: "create",
    text: "Make a short-lived token and print the command to type on the other device.",
    examples: ["yao node token create", "yao node token create --ttl 1h --uses 5 --label site=home"],
    flags: [
      { flags: "--ttl <duration>", text: "how long it can be used (default: 15m)", parse: seconds },
      { flags: "--uses <number>", text: "how many devices may use it (default: 1)", parse: whole(1, 1000) },
      { flags: "--label <key=value>", text: "label for the devices that use it (repeatable)", parse: pairs },
      {
        flags: "--workspace-id <id>",
        text: "workspace these devices may serve (repeatable; default: all)",
        parse: list,
      },
    ],
    action: async (cli, _args, flags) => {
      const answer = await clientOf(cli, flags).post<CreateJoinTokenResponse>("/v1/node-tokens", {
        body: {
          ttl_seconds: flags.ttl ?? 0,
          uses: flags.uses ?? 0,
          labels: flags.label ?? {},
          workspace_ids: flags.workspaceId ?? [],
        },
      });
      print(cli, flags, answer, () => `${plain(answer.command)}\n`);
      cli.terminal.progress(`type this on the other device before ${answer.expires_at}; the token is shown only now`);
      return undefined;
    },
  });
}

function listCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "list",
    text: "List the devices.",
    examples: ["yao node list", "yao node list --json"],
    action: async (cli, _args, flags) => {
      const answer = await clientOf(cli, flags).get<ListNodesResponse>("/v1/nodes");
      print(cli, flags, answer, () =>
        table(
          answer.nodes,
          [
            { title: "name", value: (node) => node.name },
            { title: "status", value: statusOf },
            { title: "slots", value: (node) => `${node.slots_used}/${node.slots}` },
            { title: "system", value: systemOf },
            { title: "labels", value: labelsOf },
            { title: "last seen", value: (node) => node.last_seen_at },
            { title: "reason", value: (node) => node.reason },
          ],
          "no device has joined yet; let one join with `yao node token create`",
        ),
      );
      return undefined;
    },
  });
}

function showCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "show <node>",
    text: "Show one device, by name or id.",
    examples: ["yao node show laptop"],
    action: async (cli, args, flags) => {
      const answer = await clientOf(cli, flags).get<GetNodeResponse>(apiPath`/v1/nodes/${args[0] ?? ""}`);
      print(cli, flags, answer, () => (answer.node === undefined ? "" : nodeText(answer.node)));
      return undefined;
    },
  });
}

function nodeText(node: Node): string {
  const { facts } = node;
  return fields([
    ["name", node.name],
    ["id", node.id],
    ["status", statusOf(node)],
    ["reason", node.reason],
    ["slots", `${node.slots_used} of ${node.slots} used`],
    ["labels", labelsOf(node)],
    ["workspaces", node.workspace_ids.length === 0 ? "all" : node.workspace_ids.join(", ")],
    ["system", systemOf(node)],
    ["host name", facts?.hostname],
    ["processors", facts?.cpus],
    ["memory", facts === undefined ? undefined : `${(facts.memory_bytes / 1024 ** 3).toFixed(1)} GB`],
    [
      "tools",
      Object.keys(facts?.tools ?? {})
        .toSorted()
        .join(", "),
    ],
    ["agent version", node.version],
    ["last seen", node.last_seen_at],
    ["joined", node.created_at],
    ["drain deadline", node.drain_deadline_at],
  ]);
}

function drainCommand(builder: Builder): Command {
  return leaf<DrainFlags>(builder, {
    name: "drain <node>",
    text: "Give a device no new work. Running work finishes, or is handed back at the deadline.",
    examples: ["yao node drain laptop", "yao node drain laptop --deadline 10m"],
    flags: [{ flags: "--deadline <duration>", text: "hand running work back after this time", parse: seconds }],
    action: async (cli, args, flags) => {
      const answer = await clientOf(cli, flags).post<DrainNodeResponse>(apiPath`/v1/nodes/${args[0] ?? ""}/drain`, {
        body: { deadline_seconds: flags.deadline ?? 0 },
      });
      tellNode(cli, flags, answer, "is draining");
      return undefined;
    },
  });
}

function undrainCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "undrain <node>",
    text: "Let a device take work again.",
    examples: ["yao node undrain laptop"],
    action: async (cli, args, flags) => {
      const path = apiPath`/v1/nodes/${args[0] ?? ""}/undrain`;
      tellNode(cli, flags, await clientOf(cli, flags).post<DrainNodeResponse>(path), "takes work again");
      return undefined;
    },
  });
}

function renameCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "rename <node> <name>",
    text: "Give a device another name.",
    examples: ["yao node rename debian-12 laptop"],
    action: async (cli, args, flags) => {
      const [node = "", name = ""] = args;
      const answer = await clientOf(cli, flags).patch<UpdateNodeResponse>(apiPath`/v1/nodes/${node}`, {
        body: { name },
      });
      tellNode(cli, flags, answer, `was ${node}`);
      return undefined;
    },
  });
}

function labelCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "label <node> <labels...>",
    text: "Set labels with key=value; remove them with key-.",
    examples: ["yao node label laptop gpu=yes site=home", "yao node label laptop gpu-"],
    action: async (cli, args, flags) => {
      const [node = "", ...texts] = args;
      const answer = await clientOf(cli, flags).patch<UpdateNodeResponse>(apiPath`/v1/nodes/${node}`, {
        body: { labels: labelChanges(texts) },
      });
      tellNode(cli, flags, answer, `has labels ${answer.node === undefined ? "" : labelsOf(answer.node) || "none"}`);
      return undefined;
    },
  });
}

function labelChanges(texts: readonly string[]): Readonly<Record<string, string>> {
  return texts.reduce<Readonly<Record<string, string>>>((changes, text) => {
    if (/^[^=]+-$/.test(text)) return { ...changes, [text.slice(0, -1)]: "" };
    if (text.endsWith("="))
      throw new InvalidArgumentError(`"${text}" sets nothing; to remove the label write ${text.slice(0, -1)}-`);
    return pairs(text, changes);
  }, {});
}

function removeCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "remove <node>",
    text: "Remove a device; it is cut off at once and must join again to come back.",
    examples: ["yao node remove laptop"],
    action: async (cli, args, flags) => {
      const node = args[0] ?? "";
      await clientOf(cli, flags).delete(apiPath`/v1/nodes/${node}`);
      print(cli, flags, { removed: node }, () => `${plain(node)} was removed\n`);
      return undefined;
    },
  });
}

function tellNode(cli: Cli, flags: CommonFlags, answer: { readonly node: Node | undefined }, what: string): void {
  print(cli, flags, answer, () => `${plain(answer.node?.name ?? "the device")} ${plain(what)}\n`);
}

function statusOf(node: Node): string {
  return node.draining ? `${node.status}, draining` : node.status;
}

function systemOf(node: Node): string | undefined {
  return node.facts === undefined ? undefined : `${node.facts.os}/${node.facts.arch}`;
}

function labelsOf(node: Node): string {
  return Object.entries(node.labels)
    .map(([key, value]) => `${key}=${value}`)
    .toSorted()
    .join(" ");
}
