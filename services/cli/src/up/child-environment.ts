/** Which variables the processes of `yao up` get: each its own, so that a typo is found and no secret goes where it is not needed. Pure. */

import type { Environment } from "../config.ts";

/** Variables of the command line alone. */
const CLI_ONLY = new Set(["YAO_URL", "YAO_TOKEN", "YAO_WORKSPACE", "YAO_HOME", "YAO_NATS_PORT", "YAO_NATS_SERVER"]);

/** The coordinator: all `YAO_*` but those of the command line and of the node, so that it can refuse unknown ones. */
export function coordinatorEnvironment(env: Environment, values: Environment): Environment {
  return {
    ...only(env, (name) => !isCliOnly(name) && !name.startsWith("YAO_NODE_") && !name.startsWith("YAO_TEST_")),
    ...values,
  };
}

/** The node agent: `YAO_NODE_*` only, since database and trust are not its business. Assistants' `$ENV` values stay. */
export function nodeEnvironment(env: Environment, values: Environment): Environment {
  return { ...only(env, (name) => name.startsWith("YAO_NODE_")), ...values };
}

function only(env: Environment, isWanted: (name: string) => boolean): Environment {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => (name.startsWith("YAO_") ? isWanted(name) : !isNodeInternal(name))),
  );
}

function isCliOnly(name: string): boolean {
  return CLI_ONLY.has(name.replace(/_FILE$/, ""));
}

// The channel of this process to its own parent is not the child's.
function isNodeInternal(name: string): boolean {
  return name === "NODE_CHANNEL_FD" || name === "NODE_CHANNEL_SERIALIZATION_MODE" || name === "NODE_UNIQUE_ID";
}
