/** Configuration of the coordinator: one row per option, read once by `main`. */

import { BlockList } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";

import { duration, flag, integer, oneOf, type OptionSource, type OptionTable, parseOptions, text } from "@mesh/kernel";

import { networksOf } from "./webhooks/target-guard.ts";

// Every option of the coordinator.
const OPTIONS = {
  databaseUrl: {
    env: "YAO_DATABASE_URL",
    parse: text,
    secret: true,
    doc: "PostgreSQL, as postgres://user:password@host:5432/database.",
  },
  natsUrl: {
    env: "YAO_NATS_URL",
    parse: text,
    doc: "NATS, as nats://host:4222 or tls://host:4222; several separated by commas.",
  },
  natsTrustDir: {
    env: "YAO_NATS_TRUST_DIR",
    parse: text,
    doc: "Directory with the keys of the NATS operator; made by `yao nats config` or `yao up`.",
  },
  natsWs: {
    env: "YAO_NATS_WS",
    parse: text,
    default: "127.0.0.1:7403",
    doc: "host:port of the NATS WebSocket listener that the gateway's /nats leads to.",
  },
  publicNatsUrls: {
    env: "YAO_PUBLIC_NATS_URLS",
    parse: list,
    default: [],
    doc: "NATS addresses that devices may try before /nats, separated by commas.",
  },
  dataDir: {
    env: "YAO_DATA",
    parse: text,
    default: join(homedir(), ".yao"),
    doc: "Directory for the master key and other local state.",
  },
  host: { env: "YAO_HOST", parse: text, default: "127.0.0.1", doc: "Address the gateway listens on; 0.0.0.0 for all." },
  httpPort: {
    env: "YAO_HTTP_PORT",
    parse: integer(0, 65_535),
    default: 7400,
    doc: "Port of HTTP, SSE, WebSocket and /nats.",
  },
  grpcPort: { env: "YAO_GRPC_PORT", parse: integer(0, 65_535), default: 7401, doc: "Port of gRPC." },
  publicUrl: {
    env: "YAO_PUBLIC_URL",
    parse: text,
    doc: "Address of the gateway as devices and people reach it, such as https://mesh.example.org.",
  },
  trustedProxies: {
    env: "YAO_TRUSTED_PROXIES",
    parse: list,
    default: ["127.0.0.1/8", "::1/128"],
    doc: "Addresses of proxies whose X-Forwarded-For tells where a request comes from, separated by commas; a network as 10.0.0.0/8.",
  },
  webDir: {
    env: "YAO_WEB_DIR",
    parse: text,
    doc: "Directory of the built web page; the one beside the coordinator when absent.",
  },
  oidcIssuer: {
    env: "YAO_OIDC_ISSUER",
    parse: text,
    doc: "Address of an OpenID Connect provider that people log in with, such as https://id.example.org.",
  },
  oidcClientId: { env: "YAO_OIDC_CLIENT_ID", parse: text, doc: "Name of this coordinator at the provider." },
  oidcClientSecret: {
    env: "YAO_OIDC_CLIENT_SECRET",
    parse: text,
    secret: true,
    doc: "Secret of this coordinator at the provider.",
  },
  oidcLabel: {
    env: "YAO_OIDC_LABEL",
    parse: text,
    default: "Single sign-on",
    doc: "What the log-in page calls the provider.",
  },
  oidcAllow: {
    env: "YAO_OIDC_ALLOW",
    parse: list,
    default: [],
    doc: "Who may have an account: e-mail domains, addresses or group:NAME, separated by commas; nobody unknown when empty.",
  },
  oidcGroupAdmin: {
    env: "YAO_OIDC_GROUP_ADMIN",
    parse: text,
    doc: "Group whose members, and only they of those who come through the provider, are administrators.",
  },
  tlsCert: {
    env: "YAO_TLS_CERT",
    parse: text,
    doc: "PEM file of the certificate chain; turns TLS on together with YAO_TLS_KEY.",
  },
  tlsKey: { env: "YAO_TLS_KEY", parse: text, doc: "PEM file of the certificate's key." },
  masterKey: {
    env: "YAO_MASTER_KEY",
    parse: masterKey,
    secret: true,
    doc: "32 bytes as base64 that seal secrets at rest; made in the data directory when absent.",
  },
  issueAdminToken: {
    env: "YAO_ISSUE_ADMIN_TOKEN",
    parse: flag,
    default: false,
    doc: "Make one more admin token at the start, for a system whose first one was lost.",
  },
  logLevel: {
    env: "YAO_LOG_LEVEL",
    parse: oneOf("trace", "debug", "info", "warn", "error", "silent"),
    default: "info",
    doc: "Least serious log line to write.",
  },
  rateLimit: {
    env: "YAO_RATE_LIMIT",
    parse: integer(0, 1_000_000),
    default: 6000,
    doc: "Requests a minute and token; 0 turns the limit off.",
  },
  webhookAllow: {
    env: "YAO_WEBHOOK_ALLOW",
    parse: networks,
    default: new BlockList(),
    doc: "Networks of your own that webhooks and push messages may go to, also over http, such as 127.0.0.0/8; several separated by commas.",
  },
  leaseGrace: {
    env: "YAO_LEASE_GRACE",
    parse: duration,
    default: 60_000,
    doc: "How long a new leader waits before it takes runs from silent nodes.",
  },
  deltaRetention: {
    env: "YAO_DELTA_RETENTION",
    parse: duration,
    default: 3_600_000,
    doc: "How long the text deltas of finished runs are kept; the messages themselves stay.",
  },
} as const satisfies OptionTable;

/** The parsed options; see the table for what they mean. */
export interface CoordinatorConfig {
  readonly databaseUrl: string | undefined;
  readonly natsUrl: string | undefined;
  readonly natsTrustDir: string | undefined;
  readonly natsWs: string;
  readonly publicNatsUrls: readonly string[];
  readonly dataDir: string;
  readonly host: string;
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly publicUrl: string | undefined;
  readonly trustedProxies: readonly string[];
  readonly webDir: string | undefined;
  readonly oidcIssuer: string | undefined;
  readonly oidcClientId: string | undefined;
  readonly oidcClientSecret: string | undefined;
  readonly oidcLabel: string;
  readonly oidcAllow: readonly string[];
  readonly oidcGroupAdmin: string | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
  readonly masterKey: Uint8Array | undefined;
  readonly issueAdminToken: boolean;
  readonly logLevel: "trace" | "debug" | "info" | "warn" | "error" | "silent";
  readonly rateLimit: number;
  readonly webhookAllow: BlockList;
  /** Milliseconds. */
  readonly leaseGrace: number;
  /** Milliseconds. */
  readonly deltaRetention: number;
}

/** The rows of the table, for the generated reference. */
export function coordinatorOptions(): OptionTable {
  return OPTIONS;
}

/** Names that other processes of the system own, so that they are not mistaken for typos. */
const FOREIGN = [
  "YAO_URL",
  "YAO_TOKEN",
  "YAO_WORKSPACE",
  "YAO_HOME",
  "YAO_NATS_PORT",
  "YAO_NATS_SERVER",
  "YAO_SHARED_DIR",
];

/** Reads the options from the environment. */
export function readConfig(env: OptionSource["env"]): CoordinatorConfig {
  const foreign = Object.keys(env).filter((name) => name.startsWith("YAO_NODE_") || name.startsWith("YAO_TEST_"));
  return parseOptions(OPTIONS, { env, alsoKnown: [...FOREIGN, ...foreign] });
}

function list(value: string): readonly string[] {
  return value
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function networks(value: string): BlockList {
  return networksOf(list(value));
}

function masterKey(value: string): Uint8Array {
  const bytes = Buffer.from(value, "base64");
  if (bytes.length !== 32) throw new Error("must be 32 bytes as base64; make one with: openssl rand -base64 32");
  return bytes;
}
