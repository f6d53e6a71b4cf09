/** The agent loop: messages, tools, queues, limits, compaction. */

export const AGENT_PROTOCOL_VERSION = 1;
