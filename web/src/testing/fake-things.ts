/** What the fake coordinator knows besides tasks: devices, documents, files, settings and the like. */

import type { Connector, Document, File, Node, PushSubscription, Secret, Token, Webhook } from "@mesh/proto";

const AT = "2026-11-30T12:00:00.000Z";

/** A device. */
export function fakeNode(given: Partial<Node> = {}): Node {
  return {
    id: "node_1",
    name: "laptop",
    status: "online",
    draining: false,
    labels: { room: "attic" },
    facts: {
      os: "linux",
      arch: "x64",
      cpus: 8,
      memory_bytes: 16e9,
      hostname: "laptop.local",
      node_version: "20.20.2",
      tools: { git: "/usr/bin/git" },
    },
    slots: 4,
    slots_used: 1,
    last_seen_at: AT,
    created_at: AT,
    workspace_ids: [],
    version: "0.1.0",
    reason: "",
    load: { cpu: 0.5, memory_free_bytes: 8e9, loop_lag_ms: 2, journal_unacked_bytes: 0 },
    ...given,
  };
}

/** A document. */
export function fakeDocument(given: Partial<Document> = {}): Document {
  return {
    id: "doc_1",
    workspace_id: "ws_1",
    title: "Notes",
    path: "docs/notes.md",
    source: "run",
    media_type: "text/markdown",
    size_bytes: 64,
    status: "indexed",
    reason: "",
    version: 2,
    chunks: 1,
    node: "server",
    node_id: "node_2",
    online: false,
    offline_since: AT,
    task_id: "task_1",
    task_key: "T-1",
    run_id: "run_1",
    created_by: "helper",
    created_at: AT,
    updated_at: AT,
    ...given,
  };
}

/** A file. */
export function fakeFile(given: Partial<File> = {}): File {
  return {
    path: "notes.md",
    is_directory: false,
    size_bytes: 12,
    hash: "",
    modified_at: AT,
    node_id: "node_1",
    node: "laptop",
    online: true,
    media_type: "text/markdown",
    ...given,
  };
}

/** See the file comment. */
export class FakeThings {
  nodes: Node[] = [
    fakeNode(),
    fakeNode({ id: "node_2", name: "server", status: "offline", reason: "it is offline", labels: {}, slots_used: 0 }),
  ];
  documents: Document[] = [
    fakeDocument(),
    fakeDocument({ id: "doc_2", title: "Scan", status: "failed", reason: "there is no text in it" }),
  ];
  documentText = "# Notes\n\nthe quick fox\nis brown\n";
  files: File[] = [
    fakeFile({ path: "docs", is_directory: true, size_bytes: 0 }),
    fakeFile(),
    fakeFile({ path: "page.html", media_type: "text/html" }),
    fakeFile({
      path: "far.txt",
      media_type: "text/plain",
      node: "server",
      node_id: "node_2",
      online: false,
      offline_since: AT,
    }),
  ];
  readonly contents = new Map<string, string>([
    ["notes.md", "# Hello\n\nworld"],
    ["page.html", "<script>globalThis.ran = true</script>"],
  ]);
  connectors: Connector[] = [
    {
      id: "demo.echo",
      type: "demo",
      label: "Demo",
      model: "echo",
      host: "",
      source: "builtin",
      has_key: false,
      env: [],
    },
    {
      id: "openai.gpt",
      type: "openai",
      label: "",
      model: "gpt",
      host: "",
      source: "workspace",
      has_key: true,
      env: [],
    },
  ];
  tokens: Token[] = [];
  webhooks: Webhook[] = [
    { id: "whk_1", url: "https://hooks.example/a", events: [], disabled: false, reason: "", created_at: AT },
  ];
  pushes: PushSubscription[] = [];
  secrets: Secret[] = [{ name: "API_KEY", updated_at: AT, updated_by: "ada" }];
}
