/** `yao connector`: how assistants reach models. Keys never stand on the command line. */

import type { Connector, ListConnectorsResponse, PutConnectorResponse, TestConnectorResponse } from "@mesh/proto";
import { type Command, InvalidArgumentError } from "commander";

import { type Cli, print, targetOf, type WorkspaceFlags } from "../cli.ts";
import { apiPath, Client } from "../client/client.ts";
import { type Builder, group, leaf, pairs, WORKSPACE_FLAG } from "../command.ts";
import { readSecret, type SecretSource } from "../terminal/secret.ts";
import { table } from "../terminal/table.ts";
import { plain } from "../terminal/terminal.ts";

interface AddFlags extends WorkspaceFlags {
  readonly type?: string;
  readonly model?: string;
  readonly host?: string;
  readonly label?: string;
  readonly option?: Readonly<Record<string, string>>;
  /** Only there to be refused. */
  readonly key?: unknown;
  readonly keyEnv?: string;
  readonly keyFile?: string;
  readonly keyStdin?: boolean;
}

const ADVICE = "give it with --key-env NAME, --key-file PATH or --key-stdin";

// Longer than the time a provider is given.
const TEST_MS = 90_000;

/** The group. */
export function connectorCommand(builder: Builder): Command {
  return group("connector", "Manage how assistants reach models.", [
    addCommand(builder),
    listCommand(builder),
    testCommand(builder),
    removeCommand(builder),
  ]);
}

function addCommand(builder: Builder): Command {
  return leaf<AddFlags>(builder, {
    name: "add <connector>",
    text: "Add or replace a connector. Its key is asked for without echo, or read from a variable, a file or standard input.",
    examples: [
      "yao connector add openai.gpt-4o",
      "yao connector add openai.gpt-4o --key-env OPENAI_API_KEY",
      "yao connector add local.qwen --type openai --model qwen2.5 --host http://127.0.0.1:11434/v1",
    ],
    flags: [
      { flags: "--type <protocol>", text: "protocol, such as openai or demo (default: the first part of the id)" },
      { flags: "--model <name>", text: "model (default: the rest of the id)" },
      { flags: "--host <url>", text: "address of the provider" },
      { flags: "--label <text>", text: "name for people" },
      { flags: "--option <key=value>", text: "further option (repeatable)", parse: pairs },
      { flags: "--key-env <name>", text: "environment variable that holds the key" },
      { flags: "--key-file <path>", text: "file that holds the key" },
      { flags: "--key-stdin", text: "read the key from standard input" },
      { flags: "--key [value]", text: "", isHidden: true },
      WORKSPACE_FLAG,
    ],
    action: add,
  });
}

async function add(cli: Cli, args: readonly string[], flags: AddFlags): Promise<undefined> {
  if (flags.key !== undefined) {
    throw new InvalidArgumentError(`a key on the command line can be read by every user of this device; ${ADVICE}`);
  }
  const id = args[0] ?? "";
  const [protocol = "", ...rest] = id.split(".");
  const type = flags.type ?? protocol;
  const model = flags.model ?? rest.join(".");
  if (model === "" && type !== "demo") {
    throw new InvalidArgumentError(`"${id}" names no model; write TYPE.MODEL, such as openai.gpt-4o, or give --model`);
  }
  const key = await keyOf(cli, flags, type);
  const target = targetOf(cli, flags);
  const path = apiPath`/v1/workspaces/${target.workspace}/connectors/${id}`;
  const answer = await new Client(cli.clock, target).put<PutConnectorResponse>(path, {
    body: {
      type,
      model,
      ...(flags.host === undefined ? {} : { host: flags.host }),
      ...(flags.label === undefined ? {} : { label: flags.label }),
      ...(flags.option === undefined ? {} : { options_json: JSON.stringify(flags.option) }),
      ...(key === undefined ? {} : { key }),
    },
  });
  const hasKey = answer.connector?.has_key === true;
  print(cli, flags, answer, () => `${plain(id)} was saved, ${hasKey ? "with" : "without"} a key\n`);
  if (!hasKey && type !== "demo") cli.terminal.progress(`when its provider wants a key, ${ADVICE}`);
  return undefined;
}

// Without a terminal and without a source there is no key, and a stored one is kept.
async function keyOf(cli: Cli, flags: AddFlags, type: string): Promise<string | undefined> {
  const base: SecretSource = { what: "the key", question: "key (not shown): ", advice: ADVICE };
  const from = { terminal: cli.terminal, env: cli.env };
  if (flags.keyEnv !== undefined) return await readSecret(from, { ...base, variable: flags.keyEnv });
  if (flags.keyFile !== undefined) return await readSecret(from, { ...base, file: flags.keyFile });
  if (flags.keyStdin === true) return await readSecret(from, { ...base, isStdin: true });
  if (!cli.terminal.canAsk || type === "demo") return undefined;
  const answer = await cli.terminal.ask("key (not shown; empty for none, or to keep the stored one): ");
  return answer === "" ? undefined : answer;
}

function listCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "list",
    text: "List connectors: those added here, those of apps and the built-in ones.",
    examples: ["yao connector list"],
    flags: [WORKSPACE_FLAG],
    action: async (cli, _args, flags) => {
      const target = targetOf(cli, flags);
      const path = apiPath`/v1/workspaces/${target.workspace}/connectors`;
      const answer = await new Client(cli.clock, target).get<ListConnectorsResponse>(path);
      print(cli, flags, answer, () =>
        table<Connector>(
          answer.connectors,
          [
            { title: "connector", value: (row) => row.id },
            { title: "type", value: (row) => row.type },
            { title: "model", value: (row) => row.model },
            { title: "host", value: (row) => row.host },
            { title: "source", value: (row) => row.source },
            { title: "key", value: (row) => row.has_key },
            { title: "variables", value: (row) => row.env.join(" ") },
          ],
          "no connectors; add one with `yao connector add openai.gpt-4o`",
        ),
      );
      return undefined;
    },
  });
}

function removeCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "remove <connector>",
    text: "Remove a connector and its key.",
    examples: ["yao connector remove openai.gpt-4o"],
    flags: [WORKSPACE_FLAG],
    action: async (cli, args, flags) => {
      const target = targetOf(cli, flags);
      const id = args[0] ?? "";
      await new Client(cli.clock, target).delete(apiPath`/v1/workspaces/${target.workspace}/connectors/${id}`);
      print(cli, flags, { removed: id }, () => `${plain(id)} was removed\n`);
      return undefined;
    },
  });
}

function testCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "test <connector>",
    text: "Make one tiny call and say what works, or what failed and how to fix it; exit code 1 when it failed.",
    examples: ["yao connector test openai.gpt-4o"],
    flags: [WORKSPACE_FLAG],
    action: async (cli, args, flags) => {
      const target = targetOf(cli, flags);
      const path = apiPath`/v1/workspaces/${target.workspace}/connectors/${args[0] ?? ""}/test`;
      const answer = await new Client(cli.clock, target).post<TestConnectorResponse>(path, { timeoutMs: TEST_MS });
      print(cli, flags, answer, () => {
        const line = plain(answer.summary);
        return answer.ok ? `ok: ${line}\n` : `failed: ${line}\nto fix it: ${plain(answer.fix)}\n`;
      });
      return answer.ok ? 0 : 1;
    },
  });
}
