/** Files and documents of a workspace on two devices, over real processes: also while a device is off. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { until } from "@mesh/kernel";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { refusalOf, type SeenEvent } from "../harness/api-client.ts";
import { TestMesh } from "../harness/test-mesh.ts";
import { type Outcome, YaoHome } from "./yao-command.ts";

const HOOKS = (body: string): string => `import { agent } from "@yao/runtime";\n${body}`;

const APP: Readonly<Record<string, string>> = {
  "assistants/writer/package.yao": '{"name":"Writer"}',
  "assistants/writer/src/index.ts": HOOKS(`
    export function Next(ctx: agent.Context, { messages }: agent.Payload): agent.Next {
      const { path, text } = JSON.parse(messages.at(-1).content as string);
      ctx.workspace.WriteFile(path, text);
      return { data: { wrote: path } };
    }`),
  "assistants/reader/package.yao": '{"name":"Reader","kb":{"collections":["docs","uploads"]}}',
  "assistants/reader/src/index.ts": HOOKS(`
    export function Next(ctx: agent.Context, { messages }: agent.Payload): agent.Next {
      const query = messages.at(-1).content as string;
      const both = ctx.search.All([{ type: "kb", query }, { type: "kb", query: "harbour" }]);
      return { data: { first: both[0], second: both[1] } };
    }`),
};

const REPORT =
  "# Tide report\n\nThe harbour floods at spring tide.\n\n## Measures\n\nRaise the quay wall by forty centimetres.\n";

interface FileView {
  readonly path: string;
  readonly node: string;
  readonly online: boolean;
  readonly offline_since?: string;
  readonly hash: string;
  readonly is_directory: boolean;
}

interface DocumentView {
  readonly id: string;
  readonly title: string;
  readonly path: string;
  readonly status: string;
  readonly version: number;
  readonly node?: string;
  readonly run_id?: string;
  readonly online: boolean;
  readonly offline_since?: string;
}

let mesh: TestMesh;
let dir: string;
let workspaceId: string;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "yao-app-"));
  for (const [path, text] of Object.entries(APP)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  mesh = await TestMesh.start({
    nodes: [
      { name: "one", slots: 4 },
      { name: "two", slots: 4 },
    ],
  });
  await mesh.pushApp("app", dir);
  const { workspace } = await mesh.api.call<{ workspace: { id: string } }>("GET", "/v1/workspaces/default");
  workspaceId = workspace.id;
});

afterAll(async () => {
  await mesh?.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function files(query: string, workspace = "default"): Promise<readonly FileView[]> {
  return (await mesh.api.call<{ files: FileView[] }>("GET", `/v1/workspaces/${workspace}/files${query}`)).files;
}

async function documents(): Promise<readonly DocumentView[]> {
  return (await mesh.api.call<{ documents: DocumentView[] }>("GET", "/v1/workspaces/default/documents")).documents;
}

async function hits(
  query: string,
): Promise<readonly { document: DocumentView; snippet: string; line_from: number; line_to: number }[]> {
  const path = `/v1/workspaces/default/documents/search?query=${encodeURIComponent(query)}`;
  return (await mesh.api.call<{ hits: never[] }>("GET", path)).hits;
}

async function put(path: string, content: string | Uint8Array, more = ""): Promise<FileView> {
  const url = `/v1/workspaces/default/files/content?path=${encodeURIComponent(path)}${more}`;
  return (await mesh.api.call<{ file: FileView }>("PUT", url, Buffer.from(content))).file;
}

async function get(path: string, more = "", headers: Record<string, string> = {}): Promise<Response> {
  const url = `${mesh.api.url}/v1/workspaces/default/files/content?path=${encodeURIComponent(path)}${more}`;
  return fetch(url, { headers: { authorization: `Bearer ${mesh.api.token}`, ...headers } });
}

async function written(path: string, text: string, node: string): Promise<string> {
  const run = await mesh.createRun({ assistant: "writer", input: JSON.stringify({ path, text }), node });
  const ended = await mesh.ended(run.id);
  expect([ended.state, ended.error]).toEqual(["succeeded", undefined]);
  return run.id;
}

function onDisk(node: string, path: string): string {
  return join(mesh.node(node).dataDir, "workspaces", workspaceId, path);
}

function nextOf(events: readonly SeenEvent[]): unknown {
  for (const { data } of events) {
    const props = data["props"] as { event?: string; data?: { metadata?: { next?: unknown } } } | undefined;
    if (props?.event === "stream_end") return props.data?.metadata?.next;
  }
  return undefined;
}

describe("files", () => {
  test("are written, listed, read in ranges, moved, copied to another device and deleted", async () => {
    const big = Buffer.alloc(3 * 1024 * 1024 + 7, "yao mesh ");
    const file = await put("data/big.bin", big, "&node=one");
    expect([file.node, readFileSync(onDisk("one", "data/big.bin")).equals(big)]).toEqual(["one", true]);
    expect((await files("?path=data")).map(({ path, node, online }) => [path, node, online])).toEqual([
      ["data/big.bin", "one", true],
    ]);

    const whole = await get("data/big.bin");
    expect([whole.status, Buffer.from(await whole.arrayBuffer()).equals(big), whole.headers.get("etag")]).toEqual([
      200,
      true,
      `"${file.hash}"`,
    ]);
    const part = await get("data/big.bin", "", { range: "bytes=1048570-1048585" });
    expect([part.status, await part.text(), part.headers.get("content-range")]).toEqual([
      206,
      big.subarray(1_048_570, 1_048_586).toString(),
      `bytes 1048570-1048585/${big.length}`,
    ]);
    expect((await get("data/big.bin", "", { "if-none-match": `"${file.hash}"` })).status).toBe(304);
    expect((await get("data/big.bin", "", { range: `bytes=${big.length}-` })).status).toBe(416);

    const body = { path: "data/big.bin", to_node: "two" };
    const copied = await mesh.api.call<{ file: FileView }>("POST", "/v1/workspaces/default/files/copy", body);
    expect([copied.file.node, copied.file.hash]).toEqual(["two", file.hash]);
    await mesh.api.call("POST", "/v1/workspaces/default/files/move", {
      path: "data/big.bin",
      node: "two",
      to: "data/moved.bin",
    });
    await until(async () => (await files("?query=moved")).length === 1);
    expect((await files("?path=data")).map(({ path, node }) => [path, node])).toEqual([
      ["data/big.bin", "one"],
      ["data/moved.bin", "two"],
    ]);
    await mesh.api.call("DELETE", "/v1/workspaces/default/files?path=data/moved.bin&node=two");
    await until(async () => (await files("?path=data")).length === 1);
    const { bytes } = await mesh.api.call<{ bytes: string }>(
      "GET",
      "/v1/workspaces/default/files/part?path=data/big.bin&limit=8",
    );
    expect(Buffer.from(bytes, "base64").toString()).toBe("yao mesh");
  });

  test("are never written over unseen, and what people put in is never a page of ours", async () => {
    const first = await put("page.html", "<script>alert(1)</script>", "&node=one&if_hash=none");
    const refused = await refusalOf(put("page.html", "other", "&node=one&if_hash=none"));
    expect([refused.status, refused.problem.detail]).toEqual([409, expect.stringContaining("already")]);
    writeFileSync(onDisk("one", "page.html"), "changed on the device");
    const stale = await refusalOf(put("page.html", "other", `&node=one&if_hash=${first.hash}`));
    expect([stale.status, stale.problem.detail]).toEqual([409, expect.stringContaining("was changed since")]);
    expect(readFileSync(onDisk("one", "page.html"), "utf8")).toBe("changed on the device");
    const { headers } = await get("page.html");
    expect(headers.get("content-disposition")).toMatch(/^attachment/);
    expect(headers.get("content-security-policy")).toContain("sandbox");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("outside of the workspace are not reached, by no form of a path and by no link", async () => {
    writeFileSync(join(mesh.node("one").dataDir, "secret"), "secret");
    symlinkSync(mesh.node("one").dataDir, onDisk("one", "out"));
    symlinkSync(join(mesh.node("one").dataDir, "secret"), onDisk("one", "link"));
    for (const path of [
      "../../secret",
      "data/../../../secret",
      "/etc/passwd",
      "..\\secret",
      "C:/x",
      "a\0b",
      "x".repeat(2_000),
    ]) {
      const { status } = await get(path, "&node=one");
      expect([path.slice(0, 30), status]).toEqual([path.slice(0, 30), 400]);
    }
    for (const path of ["out/secret", "link", "out/node.json"]) {
      const answer = await get(path, "&node=one");
      expect([path, answer.status, await answer.text()]).toEqual([path, 403, expect.stringContaining("leads out")]);
      expect((await refusalOf(put(path, "mine", "&node=one"))).status).toBe(403);
    }
    expect(readFileSync(join(mesh.node("one").dataDir, "secret"), "utf8")).toBe("secret");
    expect((await files("?recursive=true")).map(({ path }) => path)).not.toContain("link");
  });
});

describe("documents", () => {
  test("are what runs write under docs/, with where they come from; a change is a version", async () => {
    const run = await written("docs/tide.md", REPORT, "two");
    const document = await until(async () =>
      (await documents()).find(({ path, status }) => path === "docs/tide.md" && status === "indexed"),
    );
    expect(document).toMatchObject({ title: "Tide report", node: "two", run_id: run, version: 1, online: true });
    const [hit] = await hits("how high is the quay wall");
    expect([hit?.document.id, hit?.line_from, hit?.snippet]).toEqual([
      document.id,
      7,
      expect.stringContaining("\uE000quay\uE001 \uE000wall\uE001"),
    ]);
    const second = await written("docs/tide.md", `${REPORT}\nDone in May.\n`, "two");
    await until(async () => (await hits("done in may")).length === 1);
    const whole = await mesh.api.call<{ text: string; versions: { version: number; run_id: string }[] }>(
      "GET",
      `/v1/documents/${document.id}`,
    );
    expect(whole.text).toContain("Done in May.");
    expect(whole.versions.map(({ version, run_id }) => [version, run_id])).toEqual([
      [2, second],
      [1, run],
    ]);
  });

  test("that are uploaded are read too; hooks find both, with citations", async () => {
    const upload = "/v1/workspaces/default/documents?name=notes.txt";
    await mesh.api.call("POST", upload, Buffer.from("The harbour master is called Marie."));
    await until(async () =>
      (await documents()).some(({ path, status }) => path === "notes.txt" && status === "indexed"),
    );
    const run = await mesh.createRun({ assistant: "reader", input: "who is the harbour master", node: "one" });
    const events = await mesh.api.follow(run.id);
    const next = nextOf(events) as Record<"first" | "second", { items: Record<string, unknown>[]; error?: string }>;
    expect(next.first.error).toBeUndefined();
    expect(next.first.items[0]).toMatchObject({
      title: "notes.txt",
      citation_id: expect.stringMatching(/^\d+$/) as unknown,
      path: "notes.txt",
      line_from: 1,
      version: 1,
    });
    const tide = next.second.items.find(({ path }) => path === "docs/tide.md");
    expect(tide).toMatchObject({ node: "two", version: 2, content: expect.stringContaining("harbour") as unknown });
    const ids = [...next.first.items, ...next.second.items].map((item) => item["citation_id"]);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe("the command line", () => {
  let home: YaoHome;

  beforeAll(() => {
    home = new YaoHome();
  });
  afterAll(() => home[Symbol.asyncDispose]());

  async function yao(args: readonly string[], input = ""): Promise<Outcome> {
    const outcome = await home.run(args, { input, env: { YAO_URL: mesh.api.url, YAO_TOKEN: mesh.api.token } });
    expect([args, outcome.code, outcome.stderr]).toEqual([args, 0, ""]);
    return outcome;
  }

  test("writes, lists, finds, prints, fetches, copies, moves and deletes files", async () => {
    await yao(["files", "put", "-", "cli/a.txt", "--node", "one"], "from a pipe\n");
    expect((await yao(["files", "cat", "cli/a.txt"])).stdout).toBe("from a pipe\n");
    expect((await yao(["files", "ls", "cli"])).stdout).toMatch(/cli\/a\.txt +12 B .* one +online/);
    await yao(["files", "cp", "cli/a.txt", "cli/b.txt", "--to-node", "two"]);
    await yao(["files", "mv", "cli/b.txt", "cli/c.txt", "--node", "two"]);
    const found = JSON.parse((await yao(["files", "find", "cli", "c.txt", "--json"])).stdout) as { files: FileView[] };
    expect(found.files.map(({ path, node }) => [path, node])).toEqual([["cli/c.txt", "two"]]);
    const local = join(home.dir, "got.txt");
    await yao(["files", "get", "cli/c.txt", local]);
    expect(readFileSync(local, "utf8")).toBe("from a pipe\n");
    const again = await home.run(["files", "get", "cli/c.txt", local], {
      env: { YAO_URL: mesh.api.url, YAO_TOKEN: mesh.api.token },
    });
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("--force")]);
    await yao(["files", "rm", "cli/c.txt", "--node", "two"]);
    await until(async () => (await files("?path=cli")).length === 1);
  });

  test("adds, lists, searches, shows, reads again and removes documents", async () => {
    const file = join(home.dir, "manual.md");
    writeFileSync(file, "# Manual\n\nTurn the winch slowly.\n");
    const { stdout } = await yao(["docs", "add", file]);
    const id = /doc_[0-9a-z]{26}/.exec(stdout)?.[0] ?? "";
    await until(async () => (await hits("winch")).length === 1);
    expect((await yao(["docs", "search", "winch"])).stdout).toMatch(
      new RegExp(`Manual — manual.md, line 3 \\(${id}\\)\n[^]*winch`),
    );
    expect((await yao(["docs", "list"])).stdout).toContain(id);
    expect((await yao(["docs", "show", id])).stdout).toBe("# Manual\n\nTurn the winch slowly.\n");
    expect((await yao(["docs", "show", id, "--info"])).stdout).toMatch(/source: +upload/);
    await yao(["docs", "reindex", id]);
    await yao(["docs", "remove", id]);
    expect(await hits("winch")).toEqual([]);
  });
});

test("a device that is off: its documents list, search and show their text; its files say where they are and since when", async () => {
  await written("docs/only-here.md", "# Lighthouse\n\nThe lamp turns every twelve seconds.\n", "two");
  await until(async () => (await hits("lamp turns"))[0]?.document.path === "docs/only-here.md");
  mesh.node("two").process.signal("SIGKILL");
  await mesh.untilNode("two", "offline");

  const [file] = await files("?query=only-here");
  expect(file).toMatchObject({ path: "docs/only-here.md", node: "two", online: false });
  const since = Date.parse(file?.offline_since ?? "");
  expect(Date.now() - since).toBeLessThan(120_000);

  const document = (await documents()).find(({ path }) => path === "docs/only-here.md");
  expect(document).toMatchObject({ node: "two", online: false, offline_since: file?.offline_since });
  expect((await hits("lamp turns"))[0]?.document.id).toBe(document?.id);
  const { text } = await mesh.api.call<{ text: string }>("GET", `/v1/documents/${document?.id}`);
  expect(text).toContain("twelve seconds");

  const refused = await refusalOf(mesh.api.call("GET", "/v1/workspaces/default/files/part?path=docs/only-here.md"));
  expect([refused.status, refused.problem.detail]).toEqual([
    409,
    expect.stringContaining(`is on two, which is off since ${file?.offline_since}`),
  ]);

  rmSync(onDisk("two", "docs/only-here.md"));
  writeFileSync(onDisk("two", "docs/new.md"), "written while it was off");
  await mesh.node("two").process.start();
  await until(
    async () => (await files("?path=docs&node=two")).map(({ path }) => path).join() === "docs/new.md,docs/tide.md",
  );
  await until(async () => (await documents()).every(({ path }) => path !== "docs/only-here.md"));
});

test("a workspace with equal names sees no file and no document of another, and a run only its own", async () => {
  await mesh.api.call("POST", "/v1/workspaces", { name: "other" });
  expect(await files("?recursive=true", "other")).toEqual([]);
  const found = await mesh.api.call<{ documents: unknown[] }>("GET", "/v1/workspaces/other/documents");
  expect(found.documents).toEqual([]);
  const search = await mesh.api.call<{ hits: unknown[] }>("GET", "/v1/workspaces/other/documents/search?query=harbour");
  expect(search.hits).toEqual([]);
  expect((await refusalOf(mesh.api.call("GET", "/v1/workspaces/other/files/part?path=docs/tide.md"))).status).toBe(404);

  await mesh.pushApp("app", dir, "other");
  const input = JSON.stringify({ path: "docs/tide.md", text: "# Foreign\n\nAnother harbour entirely.\n" });
  const run = await mesh.createRun({ assistant: "writer", input, node: "two", workspace: "other" });
  expect((await mesh.ended(run.id)).state).toBe("succeeded");
  expect(readFileSync(onDisk("two", "docs/tide.md"), "utf8")).toContain("Tide report");
  const texts = async (workspace: string): Promise<string> => {
    const asked = await mesh.createRun({ assistant: "reader", input: "harbour", node: "one", workspace });
    return JSON.stringify(nextOf(await mesh.api.follow(asked.id)));
  };
  await until(async () => (await texts("other")).includes("entirely"));
  expect(await texts("other")).not.toContain("Tide report");
  expect(await texts("default")).not.toContain("entirely");
});
