export { type BusAdmin, busAdmin, type BusAdminOptions } from "./admin.ts";
export type { Bus, BusStatus, ConsumerRef, StreamMessage, Subscription } from "./bus.ts";
export type { BusTls } from "./dial.ts";
export { wasNotSent } from "./errors.ts";
export type { BusLog, BusOptions } from "./link.ts";
export { connectBus } from "./nats-bus.ts";
export { createUserKey, isUserNkey, nkeyOfSeed, signWithSeed, type UserKey, verifyNkey } from "./nkey.ts";
export { pushRevocations, withRevoked } from "./revocation.ts";
export { type ServerConfigOptions, writeServerConfig } from "./server-config.ts";
export { findNatsServer } from "./server-process.ts";
export { type NatsServer, type NatsServerOptions, startNatsServer } from "./server.ts";
export {
  COORDINATOR_QUEUE,
  INGEST_DURABLE,
  inboxPrefix,
  nodeDigest,
  nodeOfSubject,
  runOfSubject,
  evalOfSubject,
  workspaceOfSubject,
  STREAM,
  subjects,
  workDurable,
} from "./subjects.ts";
export {
  type BusCredentials,
  createTrust,
  loadTrust,
  MAX_NODE_JWT_MS,
  NatsTrust,
  type NodeJwt,
  type Revocations,
} from "./trust.ts";
