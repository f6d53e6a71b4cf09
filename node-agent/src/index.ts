export {
  agentCommand,
  type AgentExit,
  type AgentLog,
  type InstalledUnit,
  installUnit,
  joinNode,
  type JoinResult,
  leaveMesh,
  type NodeAgentOptions,
  nodeAgentOptions,
  runNodeAgent,
} from "./main.ts";
