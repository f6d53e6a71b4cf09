/** What the configuration of an assistant's computer may hold: sandbox.yao, and the older object in package.yao. */

import {
  any,
  anyMap,
  count,
  either,
  field,
  flag,
  listOf,
  object,
  type ObjectShape,
  openObject,
  openWord,
  required,
  text,
  textMap,
  texts,
  word,
} from "./shape.ts";

const amount = { kind: "number", min: 0 } as const;

const port = object({
  label: field(text, "What the port is for."),
  port: required({ kind: "number", isWhole: true, min: 1, max: 65_535 }, "The port inside the computer."),
  host_port: field(
    { kind: "number", isWhole: true, min: 0, max: 65_535 },
    "The port on the device; 0 takes a free one.",
  ),
  protocol: field(word("tcp", "udp"), "tcp unless stated."),
});

const computer = object({
  mode: field(openWord("box", "host", "local"), "Whether the work runs in a container or on the device itself."),
  image: field(text, "The container image; without one the work runs on the device itself."),
  vnc: field(
    either(flag, openObject({ enabled: field(flag, "Whether there is a screen.") })),
    "Whether it has a screen.",
  ),
  memory: field(text, "Memory, such as 2GB."),
  cpus: field(amount, "Processors."),
  ports: field(
    either(listOf({ kind: "number", isWhole: true, min: 1, max: 65_535 }), listOf(port)),
    "Ports to open: all plain numbers or all objects.",
  ),
  user: field(text, "The user inside the container."),
  work_dir: field(text, "The working directory."),
  mount_path: field(text, "Where the workspace is mounted."),
  mount_mode: field(word("ro", "rw"), "Whether the workspace may be written to."),
});

const runner = object({
  name: field(text, "The program that does the work, such as claude, opencode or yao."),
  mode: field(text, "How it is driven, such as cli."),
  options: field(anyMap, "Options of the program."),
  connectors: field(
    {
      kind: "map",
      of: either(
        text,
        object({
          connector: required(text, "Id of the connector."),
          override: field(word("force", "user"), "Whether people may choose another one."),
        }),
      ),
    },
    "Connectors by role, such as vision.",
  ),
  supports: field(texts, "Programs that may do the work instead."),
});

const step = object({
  action: required(word("copy", "exec", "file", "process"), "What to do."),
  once: field(flag, "Only when the computer is new or this list has changed."),
  ignore_error: field(flag, "Go on when it fails."),
  background: field(flag, "Do not wait for it."),
  src: field(text, "What to copy: a path inside the assistant's folder."),
  dst: field(text, "Where to."),
  cmd: field(text, "The command to run."),
  content: field(text, "The text of the file."),
});

const secret = object({
  value: field(text, "The value, or $ENV.NAME."),
  label: field(text, "What people see."),
  description: field(text, "What it is for."),
  required: field(flag, "Whether there is no start without it."),
  multiline: field(flag, "Whether it has several lines."),
});

/** The file sandbox.yao. */
export const SANDBOX_SHAPE: ObjectShape = object({
  version: required(word("2.0"), 'The version of this form: "2.0".'),
  computer: field(computer, "The computer."),
  runner: field(runner, "The program that does the work."),
  lifecycle: field(word("oneshot", "session", "longrunning", "persistent"), "How long the computer lives."),
  idle_timeout: field(text, "How long it may be idle, such as 15m."),
  max_lifetime: field(text, "How long it may live, such as 2h."),
  stop_timeout: field(text, "How long it may take to stop, such as 5s."),
  prepare: field(listOf(step), "What to do before the work starts."),
  environment: field(textMap, "Variables of the computer; values may be $ENV.NAME."),
  secrets: field({ kind: "map", of: either(text, secret) }, "Secrets the work needs; values may be $ENV.NAME."),
  filter: field(
    openObject({
      os: field(text, "Operating system."),
      arch: field(text, "Processor family."),
      kind: field(word("host", "box", "node"), "A container or a whole device."),
      min_cpus: field(amount, "Processors at least."),
      min_mem: field(text, "Memory at least."),
      labels: field({ kind: "map", of: any }, "Labels the device must have."),
    }),
    "Which devices it may run on.",
  ),
});

/** The older form: the object `sandbox` in package.yao. */
export const OLD_SANDBOX_SHAPE: ObjectShape = openObject({
  command: field(text, "The program that does the work."),
  image: field(text, "The container image."),
  timeout: field(text, "How long one piece of work may take, such as 5m."),
  max_memory: field(text, "Memory, such as 4g."),
  max_cpu: field({ kind: "number", min: 0 }, "Processors."),
  arguments: field(openObject({ max_turns: field(count, "Turns of the program.") }), "Options of the program."),
});
