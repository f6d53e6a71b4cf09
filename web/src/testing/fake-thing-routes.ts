/** The calls about devices, documents, files, assistants and settings that the fake coordinator answers. */

import type { Node, Token } from "@mesh/proto";

import { type Answer, type FakeState, type Query, Refusal } from "./fake-state.ts";
import { fakeDocument, fakeFile } from "./fake-things.ts";

type Row = readonly [
  verb: string,
  pattern: RegExp,
  handler: (s: FakeState, path: readonly string[], q: Query) => Answer,
];

const AT = "2026-11-30T12:00:00.000Z";
const text = (value: unknown): string => (typeof value === "string" ? value : "");
const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

function nodeOf(state: FakeState, id: string): Node {
  const node = state.things.nodes.find((one) => one.id === id || one.name === id);
  if (node === undefined) throw new Refusal(404, "not_found", `there is no device ${id}`);
  return node;
}

function changeNode(state: FakeState, id: string, change: Partial<Node>): Answer {
  const node = { ...nodeOf(state, id), ...change };
  state.things.nodes = state.things.nodes.map((one) => (one.id === node.id ? node : one));
  state.tell("node.changed", node.id, { ...node });
  return { node };
}

const NODES: readonly Row[] = [
  ["GET", /^\/v1\/nodes$/, ({ things }) => ({ nodes: things.nodes })],
  ["GET", /^\/v1\/nodes\/([^/]+)$/, (state, [id = ""]) => ({ node: nodeOf(state, id) })],
  [
    "PATCH",
    /^\/v1\/nodes\/([^/]+)$/,
    (state, [id = ""], query) => {
      const labels = { ...nodeOf(state, id).labels, ...(query["labels"] as Record<string, string>) };
      const kept = Object.fromEntries(Object.entries(labels).filter(([, value]) => value !== ""));
      return changeNode(state, id, { name: text(query["name"]), slots: Number(query["slots"]), labels: kept });
    },
  ],
  ["POST", /^\/v1\/nodes\/([^/]+)\/drain$/, (state, [id = ""]) => changeNode(state, id, { draining: true })],
  ["POST", /^\/v1\/nodes\/([^/]+)\/undrain$/, (state, [id = ""]) => changeNode(state, id, { draining: false })],
  [
    "DELETE",
    /^\/v1\/nodes\/([^/]+)$/,
    (state, [id = ""]) => {
      state.things.nodes = state.things.nodes.filter((node) => node.id !== id);
      state.tell("node.removed", id, {});
      return {};
    },
  ],
  [
    "POST",
    /^\/v1\/node-tokens$/,
    () => ({ token: "jt_1", expires_at: AT, command: "yao node join https://mesh.example --token jt_1" }),
  ],
];

const DOCUMENTS: readonly Row[] = [
  [
    "GET",
    /^\/v1\/workspaces\/[^/]+\/documents\/search$/,
    ({ things }, _path, query) => {
      const word = text(query["query"]);
      const line = things.documentText.split("\n").findIndex((one) => one.includes(word)) + 1;
      if (line === 0) return { hits: [] };
      const snippet = things.documentText.replace(word, `\u{E000}${word}\u{E001}`);
      return { hits: [{ document: things.documents[0], snippet, line_from: line, line_to: line, score: 1 }] };
    },
  ],
  ["GET", /^\/v1\/workspaces\/[^/]+\/documents$/, ({ things }) => ({ documents: things.documents, next_cursor: "" })],
  [
    "POST",
    /^\/v1\/workspaces\/[^/]+\/documents$/,
    (state, _path, query) => {
      const title = text(query["name"]);
      const id = `doc_${state.things.documents.length + 1}`;
      const document = fakeDocument({ id, title, source: "upload", status: "queued", created_by: "ada" });
      state.things.documents = [document, ...state.things.documents];
      return { document };
    },
  ],
  [
    "GET",
    /^\/v1\/documents\/([^/]+)$/,
    ({ things }, [id]) => {
      const document = things.documents.find((one) => one.id === id);
      if (document === undefined) throw new Refusal(404, "not_found", "there is no such document");
      const versions = [{ version: 2, hash: "", at: AT, run_id: "run_1", node: "server" }];
      return { document, text: things.documentText, text_cut: false, versions };
    },
  ],
  ["POST", /^\/v1\/documents\/([^/]+)\/reindex$/, ({ things }) => ({ document: things.documents[0] })],
  [
    "DELETE",
    /^\/v1\/documents\/([^/]+)$/,
    ({ things }, [id]) => {
      things.documents = things.documents.filter((one) => one.id !== id);
      return {};
    },
  ],
];

const FILES: readonly Row[] = [
  [
    "GET",
    /^\/v1\/workspaces\/[^/]+\/files$/,
    ({ things }, _path, query) => {
      const [path, words] = [text(query["path"]), text(query["query"])];
      const isHere = (file: string): boolean =>
        words === "" ? file.split("/").slice(0, -1).join("/") === path : file.includes(words);
      return { files: things.files.filter((file) => isHere(file.path)), next_cursor: "" };
    },
  ],
  [
    "PUT",
    /^\/v1\/workspaces\/[^/]+\/files\/content$/,
    ({ things }, _path, query) => {
      const path = text(query["path"]);
      const isThere = things.files.some((file) => file.path === path);
      if (isThere && query["if_hash"] === "none") throw new Refusal(409, "aborted", `there is a ${path} already`);
      const file = fakeFile({ path, media_type: "text/plain" });
      things.files = [...things.files.filter((one) => one.path !== path), file];
      return { file };
    },
  ],
  [
    "POST",
    /^\/v1\/workspaces\/[^/]+\/files\/move$/,
    ({ things }, _path, query) => {
      const to = text(query["to"]);
      things.files = things.files.map((file) => (file.path === query["path"] ? { ...file, path: to } : file));
      return { file: things.files.find((file) => file.path === to) };
    },
  ],
  [
    "POST",
    /^\/v1\/workspaces\/[^/]+\/files\/copy$/,
    (state, _path, query) => {
      const { id, name } = nodeOf(state, text(query["to_node"]));
      return { file: fakeFile({ path: text(query["path"]), node_id: id, node: name }) };
    },
  ],
  [
    "DELETE",
    /^\/v1\/workspaces\/[^/]+\/files$/,
    ({ things }, _path, query) => {
      things.files = things.files.filter((file) => file.path !== query["path"]);
      return {};
    },
  ],
];

const RUNS: readonly Row[] = [
  [
    "GET",
    /^\/v1\/workspaces\/[^/]+\/runs$/,
    ({ runs }, _path, query) => {
      const state = text(query["state"]);
      return { runs: [...runs.values()].filter((run) => state === "" || run.state === state), next_cursor: "" };
    },
  ],
  [
    "POST",
    /^\/v1\/workspaces\/[^/]+\/runs$/,
    (state, _path, query) => {
      const run = state.startRun("task_1");
      const asked = { ...run, input: text(query["input"]), state: "succeeded", output: "The **answer**" };
      state.runs.set(run.id, asked);
      return { run: asked, replayed: false };
    },
  ],
];

const ANSWERS: readonly Row[] = [
  [
    "POST",
    /^\/v1\/runs\/([^/]+)\/answer$/,
    ({ runs }, [id = ""]) => {
      const run = runs.get(id);
      if (run === undefined) throw new Refusal(404, "not_found", "there is no such run");
      runs.set(id, { ...run, state: "running", pending: [] });
      return { run: runs.get(id) };
    },
  ],
];

const ASSISTANTS: readonly Row[] = [
  [
    "GET",
    /^\/v1\/workspaces\/[^/]+\/assistants\/([^/]+)$/,
    (_state, [id]) => ({
      assistant: { id, name: "Helper", description: "Helps", app: "demo", app_version: 1, connector: "", tags: ["x"] },
    }),
  ],
  ["GET", /^\/v1\/workspaces\/[^/]+\/agents$/, () => ({ agents: [AGENT] })],
  [
    "GET",
    /^\/v1\/workspaces\/[^/]+\/agents\/([^/]+)$/,
    (_state, [id]) => {
      if (id !== AGENT.id) throw new Refusal(404, "not_found", "there is no such task agent");
      const versions = [{ version: 1, digest: "", created_by: "ada", created_at: AT }];
      return { agent: AGENT, files: [{ path: "package.yao", text: "name: Reporter" }], versions };
    },
  ],
];

const AGENT = {
  id: "reporter",
  name: "Reporter",
  description: "Reports",
  version: 1,
  task_id: "task_1",
  task_key: "T-1",
  connector: "",
  created_by: "ada",
  created_at: AT,
  updated_at: AT,
};

// A point of P-256, which a browser looks at before it subscribes.
const PUSH_KEY = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
const PUSH = {
  id: "push_1",
  kinds: [],
  user_agent: "Firefox",
  service: "push.example",
  created_at: AT,
  error: "",
  is_current: false,
};

const SETTINGS: readonly Row[] = [
  ["GET", /^\/v1\/account\/sessions$/, () => ({ sessions: [SESSION] })],
  ["PUT", /^\/v1\/account\/password$/, () => ({})],
  ["GET", /^\/v1\/account\/push\/key$/, () => ({ public_key: PUSH_KEY })],
  ["GET", /^\/v1\/account\/push$/, ({ things }) => ({ subscriptions: things.pushes })],
  [
    "PUT",
    /^\/v1\/account\/push$/,
    ({ things }, _path, { kinds }) => {
      const subscription = { ...PUSH, kinds: texts(kinds), is_current: true };
      things.pushes = [...things.pushes.filter(({ is_current }) => !is_current), subscription];
      return { subscription };
    },
  ],
  [
    "DELETE",
    /^\/v1\/account\/push\/([^/]+)$/,
    ({ things }, [id]) => {
      things.pushes = things.pushes.filter((one) => one.id !== id);
      return {};
    },
  ],
  ["POST", /^\/v1\/account\/push\/[^/]+\/test$/, () => ({ delivered: false, error: "answered with 503" })],
  ["GET", /^\/v1\/workspaces\/([^/]+)$/, (_state, [id]) => ({ workspace: { id, name: "home", created_at: AT } })],
  ["GET", /^\/v1\/workspaces\/[^/]+\/members$/, () => ({ members: [{ user: "ada", role: "owner" }] })],
  ["GET", /^\/v1\/workspaces\/[^/]+\/invitations$/, () => ({ invitations: [] })],
  ["POST", /^\/v1\/workspaces\/[^/]+\/invitations$/, () => ({ code: "abc", url: "https://mesh.example/join/abc" })],
  ["GET", /^\/v1\/workspaces\/[^/]+\/secrets$/, ({ things }) => ({ secrets: things.secrets })],
  [
    "PUT",
    /^\/v1\/workspaces\/[^/]+\/secrets\/([^/]+)$/,
    ({ things }, [name = ""]) => {
      const secret = { name, updated_at: AT, updated_by: "ada" };
      things.secrets = [...things.secrets.filter((one) => one.name !== name), secret];
      return { secret };
    },
  ],
  ["GET", /^\/v1\/workspaces\/[^/]+\/connectors$/, ({ things }) => ({ connectors: things.connectors })],
  [
    "POST",
    /^\/v1\/workspaces\/[^/]+\/connectors\/([^/]+)\/test$/,
    (_state, [id]) =>
      id === "demo.echo"
        ? { ok: true, summary: "echo answers", fix: "", error_class: "", duration_ms: 3 }
        : { ok: false, summary: "the key is refused", fix: "set another key", error_class: "auth", duration_ms: 9 },
  ],
  ["GET", /^\/v1\/tokens$/, ({ things }) => ({ tokens: things.tokens })],
  [
    "POST",
    /^\/v1\/tokens$/,
    ({ things }, _path, query) => {
      const token: Token = {
        id: `tok_${things.tokens.length + 1}`,
        name: text(query["name"]),
        user: "ada",
        scopes: texts(query["scopes"]),
        workspace_ids: texts(query["workspace_ids"]),
        created_at: AT,
        assistants: texts(query["assistants"]),
        rate_per_minute: Number(query["rate_per_minute"] ?? 0),
      };
      things.tokens = [...things.tokens, token];
      return { token, secret: "yao_secret_1" };
    },
  ],
  ["GET", /^\/v1\/workspaces\/[^/]+\/webhooks$/, ({ things }) => ({ webhooks: things.webhooks })],
  ["POST", /^\/v1\/workspaces\/[^/]+\/webhooks\/[^/]+\/test$/, () => ({ delivery: DELIVERY })],
  [
    "GET",
    /^\/v1\/workspaces\/[^/]+\/webhooks\/[^/]+\/deliveries$/,
    () => ({ deliveries: [DELIVERY], next_cursor: "" }),
  ],
  ["GET", /^\/v1\/audit$/, () => ({ entries: [AUDIT], next_cursor: "" })],
];

const SESSION = {
  id: "ses_1",
  created_at: AT,
  last_used_at: AT,
  expires_at: AT,
  user_agent: "Firefox",
  is_current: true,
};
const DELIVERY = {
  id: "msg_1",
  event: "webhook.test",
  state: "failed",
  attempts: 3,
  response_status: 500,
  error: "the receiver answered 500",
  created_at: AT,
};
const AUDIT = {
  id: "aud_1",
  at: AT,
  actor: "ada",
  action: "node.drain",
  object: "node_1",
  workspace_id: "",
  detail_json: '{"deadline":0}',
};

/** All of them. */
export const THING_ROUTES: readonly Row[] = [
  ...NODES,
  ...DOCUMENTS,
  ...FILES,
  ...RUNS,
  ...ANSWERS,
  ...ASSISTANTS,
  ...SETTINGS,
];
