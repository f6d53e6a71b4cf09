export type { Bus, BusStatus, ConsumerRef, StreamMessage, Subscription } from "./bus.ts";
export {
  COORDINATOR_QUEUE,
  INGEST_DURABLE,
  inboxPrefix,
  nodeDigest,
  nodeOfSubject,
  runOfSubject,
  STREAM,
  subjects,
  workDurable,
} from "./subjects.ts";
