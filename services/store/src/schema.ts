/** The tables as types; the SQL stands in `migrations/`. jsonb columns hold JSON values, times are Date. */

import type { ColumnType, Generated } from "kysely";

type Time = ColumnType<Date, Date | string | undefined, Date | string>;
type TimeOrNull = ColumnType<Date | null, Date | string | null | undefined, Date | string | null>;
type Jsonb = ColumnType<unknown, string, string>;
type JsonbOrNull = ColumnType<unknown, string | null | undefined, string | null>;

export interface UsersTable {
  readonly id: string;
  name: string;
  is_admin: Generated<boolean>;
  created_at: Time;
}

export interface WorkspacesTable {
  readonly id: string;
  name: string;
  is_default: Generated<boolean>;
  created_at: Time;
}

export interface WorkspaceMembersTable {
  workspace_id: string;
  user_id: string;
  role: string;
}

export interface TokensTable {
  readonly id: string;
  user_id: string;
  name: string;
  hash: Buffer;
  scopes: string[];
  workspace_ids: string[];
  created_at: Time;
  expires_at: TimeOrNull;
  last_used_at: TimeOrNull;
  revoked_at: TimeOrNull;
}

export interface JoinTokensTable {
  hash: Buffer;
  uses_left: number;
  labels: Jsonb;
  workspace_ids: string[];
  created_by: string;
  created_at: Time;
  expires_at: Time;
}

export interface NodesTable {
  readonly id: string;
  digest: string;
  nkey: string;
  name: string;
  labels: Jsonb;
  facts: Jsonb;
  slots: number;
  workspace_ids: string[];
  version: string;
  draining: Generated<boolean>;
  drain_deadline_at: TimeOrNull;
  created_at: Time;
  removed_at: TimeOrNull;
}

export interface NodeLivenessTable {
  readonly node_id: string;
  boot_id: string;
  hb_seq: number;
  seen_at: Time;
  goodbye: Generated<boolean>;
  load: Jsonb;
}

export interface BundlesTable {
  readonly digest: string;
  bytes: Buffer;
  size_bytes: number;
  created_at: Time;
}

export interface AppsTable {
  readonly id: string;
  workspace_id: string;
  name: string;
  version: number;
  digest: string;
  created_at: Time;
  updated_at: Time;
}

export interface AppVersionsTable {
  app_id: string;
  version: number;
  digest: string;
  created_by: string;
  created_at: Time;
}

export interface AssistantsTable {
  workspace_id: string;
  readonly id: string;
  app_id: string;
  name: string;
  description: string;
  connector: string;
  type: string;
  avatar: string;
  tags: string[];
}

export interface AppConnectorsTable {
  workspace_id: string;
  readonly id: string;
  app_id: string;
  config: Jsonb;
}

export interface ConnectorsTable {
  workspace_id: string;
  readonly id: string;
  config: Jsonb;
  sealed_key: Buffer | null;
  updated_at: Time;
}

export interface RunsTable {
  readonly id: string;
  workspace_id: string;
  assistant_id: string;
  app_id: string;
  app_name: string;
  app_version: number;
  bundle_digest: string;
  input: string;
  options: Jsonb;
  metadata: Jsonb;
  requirements: Jsonb;
  queue_key: string;
  state: Generated<string>;
  reason: Generated<string>;
  node_id: string | null;
  lease_epoch: Generated<number>;
  lease_until: TimeOrNull;
  attempt: Generated<number>;
  on_lost: Generated<string>;
  priority: Generated<number>;
  timeout_ms: number;
  not_before: Time;
  queue_until: Time;
  hold_until: TimeOrNull;
  cancel_requested_at: TimeOrNull;
  last_seq: Generated<number>;
  committed_n: Generated<number>;
  placement: JsonbOrNull;
  error: JsonbOrNull;
  output: Generated<string>;
  usage: JsonbOrNull;
  retry_of: string | null;
  created_by: string;
  created_at: Time;
  placed_at: TimeOrNull;
  started_at: TimeOrNull;
  finished_at: TimeOrNull;
  saved_epoch: number | null;
  active_ms: Generated<number>;
}

export interface RunStatePartsTable {
  run_id: string;
  epoch: number;
  n: number;
  bytes: number;
  body: string;
}

export interface RunQuestionsTable {
  run_id: string;
  epoch: number;
  call_id: string;
  position: number;
  item: string;
  answer: string | null;
  answered_by: string | null;
  answered_at: TimeOrNull;
}

export interface RunEventsTable {
  run_id: string;
  seq: number;
  epoch: number;
  n: number | null;
  at: Time;
  kind: string;
  delta_of: string | null;
  body: string;
}

export interface IdempotencyTable {
  scope: string;
  key: string;
  request_hash: string;
  result_id: string;
  created_at: Time;
}

export interface AuditTable {
  readonly id: string;
  at: Time;
  actor: string;
  action: string;
  object: string;
  workspace_id: string | null;
  detail: Jsonb;
}

/** Every table by name. */
export interface Database {
  users: UsersTable;
  workspaces: WorkspacesTable;
  workspace_members: WorkspaceMembersTable;
  tokens: TokensTable;
  join_tokens: JoinTokensTable;
  nodes: NodesTable;
  node_liveness: NodeLivenessTable;
  bundles: BundlesTable;
  apps: AppsTable;
  app_versions: AppVersionsTable;
  assistants: AssistantsTable;
  app_connectors: AppConnectorsTable;
  connectors: ConnectorsTable;
  runs: RunsTable;
  run_events: RunEventsTable;
  run_state_parts: RunStatePartsTable;
  run_questions: RunQuestionsTable;
  idempotency: IdempotencyTable;
  audit: AuditTable;
}
