/** What this agent is, as told to the coordinator. */

/** Version of the agent. */
export const AGENT_VERSION = "0.1.0";

/** Version of the wire protocol it speaks. */
export const PROTOCOL = 1;
