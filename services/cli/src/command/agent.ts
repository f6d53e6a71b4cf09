/** `yao agent`: evals of assistants, on this machine or on the devices of a workspace, and the task agents of a workspace. */

import { InvalidArgumentError } from "commander";
import type { Command } from "commander";

import { parseDuration } from "@mesh/kernel";

import { type Builder, group, leaf, whole } from "../command.ts";
import { FLEET_FLAGS } from "./agent-eval-fleet.ts";
import { listCommand, removeCommand, showCommand } from "./agent-list.ts";
import { evalAgent, type EvalFlags } from "./agent-eval.ts";
import { compareEvals, type CompareFlags, extractResults, type ExtractFlags } from "./agent-log.ts";

/** The commands. */
export function agentCommand(builder: Builder): Command {
  return group("agent", "Test assistants, and manage those that were made of tasks.", [
    evalCommand(builder),
    extractCommand(builder),
    compareCommand(builder),
    listCommand(builder),
    showCommand(builder),
    removeCommand(builder),
  ]);
}

function evalCommand(builder: Builder): Command {
  return leaf<EvalFlags>(builder, {
    name: "eval [agent] [input]",
    text:
      "Run test cases against an assistant of an app in a directory. The input is a message, @FILE or FILE.jsonl with cases, - for " +
      "standard input, agents:ID?count=N or scripts:NAME.Function to make cases, or scripts.ASSISTANT.MODULE for script tests. " +
      "Exit codes: 0 all passed, 1 not all did, 2 wrong usage, 130 interrupted.",
    examples: [
      "yao agent eval expense @tests/inputs.jsonl",
      'yao agent eval expense "Submit $500"',
      "yao agent eval -i tests/inputs.jsonl --runs 5 -o report.html",
      "yao agent eval expense --scripts setup -v",
      "yao agent eval expense @tests/inputs.jsonl --nodes all --runs 3 -o report.html",
    ],
    flags: [
      { flags: "-i, --input <input>", text: "the input, where it is not the second argument" },
      {
        flags: "-n, --name <agent>",
        text: "the assistant, where it is not the first argument (default: found above the input)",
      },
      { flags: "-a, --app <dir>", text: "directory of the app (default: found above the input, or $YAO_ROOT)" },
      { flags: "-e, --env <file>", text: "file of variables, NAME=VALUE a line (default: .env of the app)" },
      { flags: "-s, --scripts <module>", text: "run the script tests of this module of the assistant" },
      {
        flags: "-o, --output <file>",
        text: "report: .jsonl, .json, .md, .html or .xml (default: output-TIME.jsonl beside the input)",
      },
      { flags: "-c, --connector <id>", text: "model connector to use instead of the assistant's own" },
      { flags: "-u, --user <id>", text: "user the cases run as (default: test-user)" },
      { flags: "-t, --team <id>", text: "team the cases run as (default: test-team)" },
      { flags: "--locale <name>", text: "language the cases run in (default: en-us)" },
      { flags: "-r, --reporter <agent>", text: "assistant that writes the report" },
      { flags: "-v, --verbose", text: "show outputs and what scripts log" },
      { flags: "--ctx <file>", text: "JSON file with chat_id, authorized and metadata" },
      { flags: "--simulator <agent>", text: "assistant that plays the user where a case names nobody" },
      { flags: "--before <hook>", text: "function to call before all cases, such as env_test.BeforeAll" },
      { flags: "--after <hook>", text: "function to call after all cases, such as env_test.AfterAll" },
      { flags: "--before-all <hook>", text: "the same as --before", isHidden: true },
      { flags: "--after-all <hook>", text: "the same as --after", isHidden: true },
      { flags: "--runs <number>", text: "runs of each case (default: 1)", parse: whole(1, 10_000) },
      { flags: "--run <pattern>", text: "run only cases whose id, or tests whose name, this pattern (RE2) finds" },
      { flags: "--timeout <duration>", text: "time a case may take (default: 2m)", parse: milliseconds },
      { flags: "--parallel <number>", text: "cases at the same time (default: 1)", parse: whole(1, 1_000) },
      {
        flags: "--retries <number>",
        text: "tries again when a model could not be reached (default: 0)",
        parse: whole(0, 20),
      },
      { flags: "--fail-fast", text: "start nothing more after the first case that does not pass" },
      { flags: "--dry-run", text: "show the cases without running them" },
      { flags: "--resume <log>", text: "go on with the log of an eval that was ended: only what is missing is run" },
      { flags: "--regrade <log>", text: "judge the answers in this log or report again, without asking the assistant" },
      ...FLEET_FLAGS,
    ],
    action: evalAgent,
  });
}

function extractCommand(builder: Builder): Command {
  return leaf<ExtractFlags>(builder, {
    name: "extract <file>",
    text: "Write each result of an eval's log, or of its JSON report, into a file of its own.",
    examples: [
      "yao agent extract output-20260127104118.jsonl",
      "yao agent extract report.json -o ./reports --format json",
    ],
    flags: [
      { flags: "-o, --output <dir>", text: "directory for the files (default: beside the input)" },
      { flags: "--format <form>", text: "markdown or json (default: markdown)" },
    ],
    action: async (cli, args, flags) => {
      await extractResults(cli, args, flags);
      return 0;
    },
  });
}

function compareCommand(builder: Builder): Command {
  return leaf<CompareFlags>(builder, {
    name: "compare <before> <after>",
    text: "Say what changed between two evals of the same cases, and whether it can be told from chance.",
    examples: [
      "yao agent compare main.jsonl branch.jsonl",
      "yao agent compare main.jsonl branch.jsonl --fail-on regression",
    ],
    flags: [{ flags: "--fail-on <what>", text: "regression: exit with 1 when cases clearly got worse" }],
    action: compareEvals,
  });
}

function milliseconds(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || ms <= 0)
    throw new InvalidArgumentError(`"${text}" must be a duration such as 30s, 2m or 1m30s.`);
  return ms;
}
