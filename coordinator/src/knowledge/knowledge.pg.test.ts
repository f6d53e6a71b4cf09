/** Documents: what devices tell and people upload, found and cited; over a real database and devices at the wire. */

import { subjects } from "@mesh/bus";
import { type Json, until } from "@mesh/kernel";
import { silentLogger } from "@mesh/observability";
import { type Document, Hello } from "@mesh/proto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { refusal } from "../auth/testing/tenant.ts";
import { createFiles, type Files } from "../context/files.ts";
import { DeviceFiles, indexed } from "../files/testing/device-files.ts";
import type { Call } from "../gateway/operation.ts";
import { type Fleet, startFleet } from "../membership/testing/fleet.ts";
import type { RunScope } from "../state/state-rpc.ts";

let fleet: Fleet;
let files: Files;
let stop: AbortController;
let running: Promise<unknown>;
let one: DeviceFiles;
let two: DeviceFiles;
let ws: string;
let admin: Call;
let digest = 0;

beforeEach(async () => {
  fleet = await startFleet();
  const { tenant, bus } = fleet;
  files = createFiles(
    { store: tenant.store, access: tenant.access, bus, ids: tenant.ids, log: silentLogger },
    () => undefined,
  );
  stop = new AbortController();
  running = Promise.all(files.services.map((service) => service.run(stop.signal)));
  [one, two] = [await device("one"), await device("two")];
  ws = fleet.defaultWorkspaceId;
  admin = tenant.as(tenant.admin);
});

afterEach(async () => {
  stop.abort();
  await running;
  await fleet[Symbol.asyncDispose]();
});

async function device(name: string): Promise<DeviceFiles> {
  const made = fleet.device();
  await fleet.join(made, await fleet.token(), { name });
  const data = Hello.encode(Hello.fromPartial({ boot_id: "b1", protocol: 1, version: "1", facts_json: "{}" })).finish();
  await made.bus.request(subjects.rpc(made.digest, "hello"), data, { timeoutMs: 5_000 });
  return new DeviceFiles(made);
}

/** A full report of these files. */
async function tell(
  from: DeviceFiles,
  contents: Readonly<Record<string, string>>,
  runId = "",
): Promise<readonly string[]> {
  const changed = Object.entries(contents).map(([path, text]) => indexed(path, text, { run_id: runId }));
  const answer = await from.report({
    workspace_id: ws,
    sync: `s${(digest += 1)}`,
    base: "",
    digest: `d${digest}`,
    changed,
  });
  return answer.wanted.map(({ path }) => path);
}

/** The same, with the texts that are asked for. */
async function index(from: DeviceFiles, contents: Readonly<Record<string, string>>, runId = ""): Promise<void> {
  for (const path of await tell(from, contents, runId)) await from.text(ws, path, contents[path] ?? "");
}

async function documents(): Promise<readonly Document[]> {
  return (await files.api.documents.listDocuments({ workspace: ws, limit: 0, cursor: "" }, admin)).documents;
}

async function find(query: string, call = admin): Promise<string[]> {
  const { hits } = await files.api.documents.searchDocuments({ workspace: ws, query, limit: 0 }, call);
  return hits.map((hit) => `${hit.document?.path}:${hit.line_from}`);
}

function scope(over: Partial<RunScope> = {}): RunScope {
  return {
    runId: "run_1",
    workspaceId: ws,
    userId: "u",
    chatOwner: "u",
    assistantId: "a",
    chatId: undefined,
    bundleDigest: "d",
    ...over,
  };
}

async function ask(service: string, method: string, request: Json, over: Partial<RunScope> = {}): Promise<Json> {
  const handler = files.beside({})[service];
  return (await handler?.(scope(over), method, Array.isArray(request) ? request : [request])) ?? null;
}

/** Makes a run one of the task T-7. */
async function giveTask(runId: string): Promise<void> {
  const { sql } = fleet.tenant.store;
  await sql`INSERT INTO boards (id, workspace_id, name) VALUES ('board_1', ${ws}, 'of the test')`;
  await sql`INSERT INTO board_columns (id, board_id, position, name, category) VALUES ('col_1', 'board_1', 0, 'c', 'todo')`;
  await sql`
    INSERT INTO tasks (id, workspace_id, number, board_id, column_id, rank, title, title_by, created_by)
    VALUES ('task_1', ${ws}, 7, 'board_1', 'col_1', 'a', 't', 'person', 'u')`;
  await sql`UPDATE runs SET task_id = 'task_1' WHERE id = ${runId}`;
}

async function turnOff(name: string): Promise<void> {
  await fleet.tenant.store.sql`
    UPDATE node_liveness SET seen_at = now() - interval '1 hour' WHERE node_id = (SELECT id FROM nodes WHERE name = ${name})`;
}

describe("documents of devices", () => {
  test("texts are asked for once per content; a change is a version with its run", async () => {
    const run = await fleet.run("one");
    await until(
      async () =>
        (await fleet.tenant.store.sql`SELECT 1 FROM runs WHERE id = ${run} AND node_id IS NOT NULL`).length === 1,
    );
    await giveTask(run);
    expect(await tell(one, { "docs/a.md": "# Tea\n\nGreen tea.", "docs/x.png": "png", "src/a.md": "no" }, run)).toEqual(
      ["docs/a.md"],
    );
    await one.text(ws, "docs/a.md", "# Tea\n\nGreen tea.");
    expect(await tell(one, { "docs/a.md": "# Tea\n\nGreen tea." })).toEqual([]);
    const [first] = await documents();
    expect(first).toMatchObject({
      title: "Tea",
      status: "indexed",
      version: 1,
      source: "run",
      task_id: "task_1",
      task_key: "T-7",
      run_id: run,
      node: "one",
      created_by: "user:admin",
    });
    // A run of another device is not believed.
    expect(await tell(one, { "docs/a.md": "# Tea\n\nBlack tea." }, "run_00000000000000000000000009")).toEqual([
      "docs/a.md",
    ]);
    expect(await find("green")).toEqual(["docs/a.md:3"]);
    await one.text(ws, "docs/a.md", "# Tea\n\nBlack tea.");
    expect([await find("green"), await find("black")]).toEqual([[], ["docs/a.md:3"]]);
    const { versions } = await files.api.documents.getDocument({ document: first?.id ?? "" }, admin);
    expect(versions.map(({ version, run_id, node }) => [version, run_id, node])).toEqual([
      [2, undefined, "one"],
      [1, run, "one"],
    ]);
  });

  test("a text of a content that is no more is not taken, and one that could not be read says why", async () => {
    await tell(one, { "docs/a.md": "new" });
    await one.text(ws, "docs/a.md", "old");
    expect((await documents())[0]).toMatchObject({ status: "queued", chunks: 0 });
    await one.text(ws, "docs/a.md", "new", { failure: "it is protected by a password" });
    expect((await documents())[0]).toMatchObject({ status: "failed", reason: "it is protected by a password" });
    expect((await refusal(one.text(ws, "docs/a.md", "new", { deflated: Buffer.from("no") }))).code).toBe(
      "invalid_argument",
    );
  });

  test("a renamed file is the same document, a deleted one is gone with all of it, a copy is not a second one", async () => {
    await index(one, { "docs/a.md": "alpha words", "docs/b.md": "beta words" });
    const before = new Map((await documents()).map(({ path, id }) => [path, id]));
    await one.report({
      workspace_id: ws,
      base: `d${digest}`,
      digest: "r1",
      changed: [indexed("docs/moved.md", "alpha words")],
      gone: ["docs/a.md", "docs/b.md"],
    });
    expect((await documents()).map(({ path, id }) => [path, id])).toEqual([["docs/moved.md", before.get("docs/a.md")]]);
    expect([await find("alpha"), await find("beta")]).toEqual([["docs/moved.md:1"], []]);
    const left = await fleet.tenant.store
      .sql`SELECT 1 FROM document_chunks WHERE document_id = ${before.get("docs/b.md") ?? ""}`;
    expect(left.length).toBe(0);
    expect(await tell(two, { "docs/moved.md": "alpha words" })).toEqual([]);
    expect((await documents()).length).toBe(1);
    expect(await tell(two, { "docs/moved.md": "other words" })).toEqual(["docs/moved.md"]);
    expect((await documents()).length).toBe(2);
  });

  test("while a device is off, its documents list, search and show their text, and are not read again", async () => {
    await index(one, { "docs/a.md": "lighthouse" });
    await turnOff("one");
    const [document] = await documents();
    expect(document).toMatchObject({ online: false, offline_since: expect.stringMatching(/^2/) as unknown });
    expect(await find("lighthouse")).toEqual(["docs/a.md:1"]);
    expect((await files.api.documents.getDocument({ document: document?.id ?? "" }, admin)).text).toBe("lighthouse");
    const again = await refusal(files.api.documents.reindexDocument({ document: document?.id ?? "" }, admin));
    expect([again.code, again.message]).toEqual(["failed_precondition", expect.stringContaining("one is off")]);
  });

  test("reading again asks the device at once", async () => {
    await index(one, { "docs/a.md": "words" });
    const [document] = await documents();
    await files.api.documents.reindexDocument({ document: document?.id ?? "" }, admin);
    expect(one.commands).toEqual(["look "]);
    expect([await tell(one, { "docs/a.md": "words" }), await find("words")]).toEqual([["docs/a.md"], ["docs/a.md:1"]]);
  });
});

describe("search", () => {
  beforeEach(async () => {
    await index(one, {
      "docs/harbour.md": "# Harbour\n\nThe quay walls were raised.\n\n## Costs\n\nRaising costs 40,000 euros.",
      "docs/tea/green.md": "# 绿茶\n\n绿茶对健康很好。\n\nSencha is a green tea.",
      "docs/other.md": "Walls of a house. Nothing else.",
      "docs/query.txt": "operators & | ! ( ) ' \" \\ <-> :* here",
    });
  });

  test("finds forms of words, all words before some, titles before texts", async () => {
    expect((await find("raise the quay wall"))[0]).toBe("docs/harbour.md:3");
    expect(await find("wall")).toEqual(expect.arrayContaining(["docs/harbour.md:3", "docs/other.md:1"]));
    expect((await find("euros costs"))[0]).toBe("docs/harbour.md:5");
    expect(await find("unknownword")).toEqual([]);
    expect(await find("the of and")).toEqual(expect.any(Array));
  });

  test("finds words of scripts without spaces, down to one character", async () => {
    for (const query of ["绿茶", "健康", "茶", "很好"])
      expect([query, await find(query)]).toEqual([
        query,
        ["docs/tea/green.md:1"].map(() => expect.stringContaining("docs/tea/green.md") as string),
      ]);
    expect(await find("红茶")).toEqual([]);
  });

  test.each([
    "'",
    "&|!",
    "a & ! b",
    "\\",
    "<->",
    ":*",
    "quay:* & !x",
    "💥",
    "\u0000",
    "x".repeat(900),
    "%",
    "' OR 1=1 --",
  ])("the query %j is words and nothing else", async (query) => {
    expect(await find(query.replaceAll("\0", " "))).toEqual(expect.any(Array));
  });

  test("marks what was found and says how good it is", async () => {
    const { hits } = await files.api.documents.searchDocuments(
      { workspace: ws, query: "raised quay", limit: 1 },
      admin,
    );
    expect(hits.length).toBe(1);
    expect(hits[0]?.snippet).toContain("\uE000quay\uE001 walls were \uE000raised\uE001");
    expect(hits[0]?.score).toBe(1);
  });

  test("runs find passages with all that it takes to cite them, in their collections", async () => {
    const found = (await ask("search", "KB", { query: "quay walls", collections: ["docs"] })) as Record<string, Json>[];
    expect(found[0]).toMatchObject({
      title: "Harbour",
      path: "docs/harbour.md",
      line_from: 3,
      version: 1,
      node: "one",
      content: expect.stringContaining("quay walls") as unknown,
      url: expect.stringMatching(/^\/documents\/doc_\w+#L3-L3$/) as unknown,
    });
    const paths = async (collections: Json, query = "green"): Promise<Json[]> =>
      ((await ask("search", "KB", { query, collections })) as Record<string, Json>[]).map(({ path = null }) => path);
    expect([await paths(["tea"]), await paths(["harbour"]), await paths(["uploads"]), await paths([])]).toEqual([
      ["docs/tea/green.md"],
      [],
      [],
      ["docs/tea/green.md"],
    ]);
    const strict = (await ask("search", "KB", { query: "quay walls", threshold: 0.9 })) as Json[];
    expect(strict.length).toBe(1);
    await expect(ask("search", "KB", { query: " " })).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(ask("search", "Graph", {})).rejects.toMatchObject({ code: "not_found" });
    expect(await ask("search", "KB", { query: "quay" }, { workspaceId: "ws_other" })).toEqual([]);
  });
});

describe("uploads", () => {
  const upload = (
    name: string,
    text: string | Uint8Array,
    call = admin,
  ): ReturnType<Files["api"]["documents"]["uploadDocument"]> =>
    files.api.documents.uploadDocument({ workspace: ws, name, bytes: Buffer.from(text) }, call);
  const status = async (): Promise<(string | undefined)[]> =>
    (await documents()).map((row) => `${row.path} ${row.version} ${row.status} ${row.reason}`.trim());

  test("are read in the background, found, versioned by name, and go with their document", async () => {
    const { document } = await upload("notes.html", "<h1>Notes</h1><p>About <b>lamps</b></p><script>no()</script>");
    expect(document).toMatchObject({ status: "queued", source: "upload", media_type: "text/html", online: true });
    await until(async () => (await status())[0] === "notes.html 1 indexed");
    expect([await find("lamps"), await find("script")]).toEqual([["notes.html:3"], []]);
    await upload("notes.html", "<p>About wicks</p>");
    await until(async () => (await status())[0] === "notes.html 2 indexed");
    expect([await find("lamps"), await find("wicks")]).toEqual([[], ["notes.html:1"]]);
    await files.api.documents.deleteDocument({ document: document?.id ?? "" }, admin);
    const left = await fleet.tenant.store.sql`
      SELECT 1 FROM uploads UNION ALL SELECT 1 FROM document_chunks UNION ALL SELECT 1 FROM document_versions UNION ALL SELECT 1 FROM documents`;
    expect([left.length, await find("wicks")]).toEqual([0, []]);
  });

  test("without text fail with a reason and can be read again", async () => {
    const { document } = await upload("a.bin", new Uint8Array([0, 1, 2]));
    await until(async () => (await status())[0]?.startsWith("a.bin 1 failed it is of an unknown type") === true);
    await files.api.documents.reindexDocument({ document: document?.id ?? "" }, admin);
    await until(async () => (await status())[0]?.startsWith("a.bin 1 failed") === true);
  });

  test("and documents are bounded per workspace", async () => {
    const { sql } = fleet.tenant.store;
    await sql`
      INSERT INTO uploads (id, workspace_id, name, media_type, size_bytes, hash, bytes, created_by)
      VALUES ('upl_big', ${ws}, 'big', 'x', ${2 * 1024 ** 3}, '', ''::bytea, 'u')`;
    const full = await refusal(upload("a", "x"));
    expect([full.code, full.message]).toEqual(["resource_exhausted", expect.stringContaining("2048 MB")]);
    await sql`UPDATE uploads SET size_bytes = 0`;
    const [node] = await sql<{ id: string }[]>`SELECT id FROM nodes WHERE name = 'two'`;
    await sql`
      INSERT INTO documents (id, workspace_id, source, path, title, media_type, size_bytes, hash, node_id, created_by, status)
      SELECT 'doc_' || n, ${ws}, 'run', 'docs/' || n || '.md', '', '', 0, '', ${node?.id ?? ""}, 'u', 'indexed' FROM generate_series(1, 19999) AS n`;
    expect((await tell(one, { "docs/x.md": "x", "docs/y.md": "y" })).length).toBe(1);
    expect((await refusal(upload("a", "x"))).message).toContain("20000 documents");
  });

  test("have a plain name and a content", async () => {
    for (const name of ["../a", "a/b", "/a", "a\\b", "a\0", ".."])
      expect([name, (await refusal(upload(name, "x"))).code]).toEqual([name, "invalid_argument"]);
    expect((await refusal(upload("a", ""))).message).toContain("empty");
  });

  test("of a message are read part by part by runs of their workspace alone, until their time is over", async () => {
    const bytes = Buffer.alloc(700_000, "ab");
    const { upload: uri, media_type: type } = await files.api.documents.createUpload(
      { workspace: ws, name: "p.csv", bytes },
      admin,
    );
    expect([type, uri]).toEqual(["text/csv", expect.stringMatching(/^__yao\.attachment:\/\/upl_[0-9a-z]{26}$/)]);
    const id = uri.slice("__yao.attachment://".length);
    const part = async (offset: number, over: Partial<RunScope> = {}): Promise<Json> =>
      ask("attachment", "Read", [id, offset], over);
    const first = await part(0);
    expect(first).toMatchObject({ name: "p.csv", content_type: "text/csv", total_bytes: 700_000 });
    const sizes = [first, await part(524_288), await part(700_000)].map(
      (answer) => Buffer.from((answer as { readonly base64: string }).base64, "base64").length,
    );
    expect(sizes).toEqual([524_288, 175_712, 0]);
    await expect(part(0, { workspaceId: "ws_other" })).rejects.toMatchObject({ code: "not_found" });
    for (const wrong of ["upl_x", "../x", "' OR 1=1", "doc_00000000000000000000000000"]) {
      await expect(ask("attachment", "Read", [wrong, 0])).rejects.toMatchObject({ code: "not_found" });
    }
    await expect(part(-1)).rejects.toMatchObject({ code: "invalid_argument" });
    await fleet.tenant.store.sql`UPDATE uploads SET expires_at = now() - interval '1 second'`;
    await expect(part(0)).rejects.toMatchObject({ code: "not_found" });
  });
});

test("a workspace with documents is only deleted with all of them, uploads and index included", async () => {
  const { workspaces, store } = fleet.tenant;
  const { workspace } = await workspaces.createWorkspace({ name: "old" }, admin);
  ws = workspace?.id ?? "";
  await index(one, { "docs/a.md": "words" });
  await files.api.documents.uploadDocument({ workspace: ws, name: "b.md", bytes: Buffer.from("b") }, admin);
  await files.api.documents.createUpload({ workspace: ws, name: "c.md", bytes: Buffer.from("c") }, admin);
  expect((await refusal(workspaces.deleteWorkspace({ workspace: ws, force: false }, admin))).message).toContain(
    "2 documents",
  );
  await workspaces.deleteWorkspace({ workspace: ws, force: true }, admin);
  const left = await store.sql`
    SELECT 1 FROM documents UNION ALL SELECT 1 FROM uploads UNION ALL SELECT 1 FROM files UNION ALL SELECT 1 FROM document_chunks`;
  expect(left.length).toBe(0);
  expect((await refusal(tell(one, { "docs/a.md": "words" }))).code).toBe("permission_denied");
});

test("runs read files of other devices, which is audited; of a device that is off, the last known text", async () => {
  await index(two, { "docs/far.md": "far away", "data.csv": "1,2" });
  two.content.set("data.csv", Buffer.from("1,2"));
  const listed = (await ask("files", "List", { query: "data" })) as Record<string, Json>[];
  expect(listed.map(({ path, node }) => [path, node])).toEqual([["data.csv", "two"]]);
  const read = (path: string, over: Partial<RunScope> = {}): Promise<Json> => ask("files", "Read", { path }, over);
  expect(await read("data.csv")).toMatchObject({
    base64: Buffer.from("1,2").toString("base64"),
    file: { node: "two" },
  });
  const audit = await fleet.tenant.store.sql<{ actor: string; object: string; detail: Json }[]>`
    SELECT actor, object, detail FROM audit WHERE action = 'file.read'`;
  expect([...audit]).toEqual([{ actor: "run:run_1", object: "data.csv", detail: { node: "two" } }]);
  await turnOff("two");
  expect(await read("docs/far.md")).toMatchObject({
    last_known_text: "far away",
    reason: expect.stringContaining("off since") as unknown,
  });
  await expect(read("data.csv")).rejects.toMatchObject({ code: "failed_precondition" });
  await expect(read("../x")).rejects.toMatchObject({ code: "invalid_argument" });
  await expect(read("docs/far.md", { workspaceId: "ws_other" })).rejects.toMatchObject({ code: "not_found" });
});

test("strangers see no document and change none, viewers only see; an id that is none is not told from a foreign one", async () => {
  await index(one, { "docs/a.md": "secret words" });
  const [document] = await documents();
  const id = document?.id ?? "";
  const stranger = fleet.tenant.as(await fleet.tenant.user("eve", ["files"]));
  const viewer = fleet.tenant.as(await fleet.tenant.user("vic", ["files"], { workspace: ws, role: "viewer" }));
  const api = files.api.documents;
  const reads: readonly ((call: Call) => Promise<unknown>)[] = [
    (call) => api.listDocuments({ workspace: ws, limit: 0, cursor: "" }, call),
    (call) => api.getDocument({ document: id }, call),
    (call) => find("secret", call),
  ];
  const writes: readonly ((call: Call) => Promise<unknown>)[] = [
    (call) => api.uploadDocument({ workspace: ws, name: "x", bytes: Buffer.from("x") }, call),
    (call) => api.createUpload({ workspace: ws, name: "x", bytes: Buffer.from("x") }, call),
    (call) => api.reindexDocument({ document: id }, call),
    (call) => api.deleteDocument({ document: id }, call),
  ];
  for (const act of [...reads, ...writes]) expect((await refusal(act(stranger))).code).toBe("not_found");
  for (const act of writes) expect((await refusal(act(viewer))).code).toBe("permission_denied");
  for (const act of reads) expect((await refusal(act(viewer))).code).toBe("ok");
  const foreign = await refusal(api.getDocument({ document: id }, stranger));
  const none = await refusal(api.getDocument({ document: "doc_00000000000000000000000000" }, stranger));
  expect(foreign.message.replace(id, "X")).toBe(none.message.replace("doc_00000000000000000000000000", "X"));
});
