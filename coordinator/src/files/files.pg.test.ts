/** The index of files and their transfer, over a real database, a memory bus and devices at the wire. */

import { subjects } from "@mesh/bus";
import { until } from "@mesh/kernel";
import { silentLogger } from "@mesh/observability";
import { Hello, HelloAnswer } from "@mesh/proto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { refusal } from "../auth/testing/tenant.ts";
import { createFiles, type Files } from "../context/files.ts";
import type { Call } from "../gateway/operation.ts";
import { type Device, type Fleet, startFleet } from "../membership/testing/fleet.ts";
import { DeviceFiles, indexed, sha } from "./testing/device-files.ts";

let fleet: Fleet;
let files: Files;
let stop: AbortController;
let running: Promise<unknown>;
let one: DeviceFiles;
let two: DeviceFiles;
let devices: { readonly one: Device; readonly two: Device };
let ws: string;
let admin: Call;

async function hello({ bus, digest }: Device): Promise<void> {
  const data = Hello.encode(Hello.fromPartial({ boot_id: "b1", protocol: 1, version: "1", facts_json: "{}" })).finish();
  const answer = HelloAnswer.decode(await bus.request(subjects.rpc(digest, "hello"), data, { timeoutMs: 5_000 }));
  expect(answer.refused).toBe("");
}

beforeEach(async () => {
  fleet = await startFleet();
  const { tenant, bus } = fleet;
  files = createFiles(
    { store: tenant.store, access: tenant.access, bus, ids: tenant.ids, log: silentLogger },
    () => undefined,
  );
  stop = new AbortController();
  running = Promise.all(files.services.map((service) => service.run(stop.signal)));
  devices = { one: fleet.device(), two: fleet.device() };
  await fleet.join(devices.one, await fleet.token(), { name: "one" });
  await fleet.join(devices.two, await fleet.token(), { name: "two" });
  await hello(devices.one);
  await hello(devices.two);
  one = new DeviceFiles(devices.one);
  two = new DeviceFiles(devices.two);
  ws = fleet.defaultWorkspaceId;
  admin = tenant.as(tenant.admin);
});

afterEach(async () => {
  stop.abort();
  await running;
  await fleet[Symbol.asyncDispose]();
});

async function list(over: object = {}, call = admin): Promise<string[]> {
  const request = { workspace: ws, path: "", node: "", query: "", recursive: false, limit: 0, cursor: "", ...over };
  return (await files.api.files.listFiles(request, call)).files.map(({ path, node }) => `${node}:${path}`);
}

async function turnOff(name: string): Promise<void> {
  await fleet.tenant.store.sql`
    UPDATE node_liveness SET seen_at = now() - interval '1 hour' WHERE node_id = (SELECT id FROM nodes WHERE name = ${name})`;
}

describe("what devices tell", () => {
  test("a chain of pages moves the index; a page twice changes nothing, one out of turn asks for everything", async () => {
    expect(await one.report({ workspace_id: ws, base: "0", digest: "1", changed: [] })).toMatchObject({ resync: true });
    const full = {
      workspace_id: ws,
      sync: "s1",
      first: true,
      last: false,
      base: "",
      digest: "p1",
      changed: [indexed("a", "a"), indexed("d/b", "b")],
    };
    await one.report(full);
    await one.report(full);
    await one.report({
      workspace_id: ws,
      sync: "s1",
      first: false,
      last: true,
      base: "p1",
      digest: "x1",
      changed: [indexed("c", "c")],
    });
    expect(await list({ recursive: true })).toEqual(["one:a", "one:c", "one:d/b"]);
    const step = { workspace_id: ws, base: "x1", digest: "x2", changed: [indexed("a", "new")], gone: ["c"] };
    expect((await one.report(step)).resync).toBe(false);
    expect((await one.report(step)).resync).toBe(false);
    expect((await one.report({ ...step, digest: "x3" })).resync).toBe(true);
    expect(await list({ recursive: true })).toEqual(["one:a", "one:d/b"]);
    // What a later full report does not name is gone.
    await one.report({ workspace_id: ws, sync: "s2", base: "", digest: "y", changed: [indexed("d/b", "b")] });
    expect(await list({ recursive: true })).toEqual(["one:d/b"]);
  });

  test("a device is refused a workspace that it does not serve, in every report", async () => {
    const { workspace } = await fleet.tenant.workspaces.createWorkspace({ name: "closed" }, admin);
    const closed = workspace?.id ?? "";
    await fleet.tenant.store.sql`UPDATE nodes SET workspace_ids = ${[closed]} WHERE name = 'two'`;
    const page = { sync: "s", base: "", digest: "1", changed: [indexed("docs/a.md", "a")] };
    expect((await refusal(two.report({ ...page, workspace_id: ws }))).code).toBe("permission_denied");
    expect((await refusal(two.text(ws, "docs/a.md", "a"))).code).toBe("permission_denied");
    expect((await refusal(one.report({ ...page, workspace_id: "ws_unknown" }))).code).toBe("permission_denied");
    expect((await refusal(one.report({ ...page, workspace_id: "x\0" }))).code).toBe("permission_denied");
    await two.report({ ...page, workspace_id: closed });
    expect([await list({ recursive: true }), await list({ workspace: "closed", recursive: true })]).toEqual([
      [],
      ["two:docs/a.md"],
    ]);
    // It serves that workspace no more: what it told of it is not shown.
    await fleet.tenant.store.sql`UPDATE nodes SET workspace_ids = ${[ws]} WHERE name = 'two'`;
    expect(await list({ workspace: "closed", recursive: true })).toEqual([]);
  });

  test.each([
    ["a path out of the workspace", { changed: [indexed("../x", "x")] }],
    ["a path in another form", { changed: [indexed("a//b", "x")] }],
    ["a NUL", { changed: [indexed("a\0", "x")] }],
    ["a hash that is none", { changed: [indexed("a", "x", { hash: "zz" })] }],
    ["too many files", { gone: Array.from({ length: 2_001 }, (_, n) => `f${n}`) }],
    ["a digest without end", { digest: "x".repeat(300) }],
  ])("%s is refused", async (_what, page) => {
    expect((await refusal(one.report({ workspace_id: ws, sync: "s", base: "", digest: "d", ...page }))).code).toBe(
      "invalid_argument",
    );
  });

  test("a device that tells of files without end is stopped", async () => {
    await one.report({ workspace_id: ws, sync: "s", base: "", digest: "d", changed: [indexed("a", "a")] });
    await fleet.tenant.store.sql`
      INSERT INTO files (workspace_id, node_id, path, parent, is_directory, size_bytes, hash, modified_at)
      SELECT workspace_id, node_id, 'n' || n, '', false, 0, '', now() FROM files, generate_series(1, 110000) AS n`;
    const more = await refusal(one.report({ workspace_id: ws, base: "d", digest: "e", changed: [indexed("b", "b")] }));
    expect([more.code, await list({ query: "b" })]).toEqual(["resource_exhausted", []]);
  });

  test("times that are none, of a hostile clock, are stored as the beginning", async () => {
    const changed = [
      indexed("a", "a", { modified_ms: Number.NaN }),
      indexed("b", "b", { modified_ms: 1e300 }),
      indexed("c", "c", { modified_ms: -5 }),
    ];
    await one.report({ workspace_id: ws, sync: "s", base: "", digest: "d", changed });
    expect(await list()).toEqual(["one:a", "one:b", "one:c"]);
  });
});

describe("reading", () => {
  beforeEach(async () => {
    await one.report({
      workspace_id: ws,
      sync: "s",
      base: "",
      digest: "1",
      changed: [
        indexed("both.txt", "old", { modified_ms: 1_000 }),
        indexed("docs", "", { is_directory: true, hash: "" }),
        indexed("docs/Report 2026.md", "r"),
        indexed("docs/50%_x.md", "p"),
        indexed("only-one.txt", "1"),
      ],
    });
    await two.report({
      workspace_id: ws,
      sync: "s",
      base: "",
      digest: "1",
      changed: [indexed("both.txt", "new"), indexed("docs/z.md", "z")],
    });
    one.content.set("both.txt", Buffer.from("old"));
    one.content.set("only-one.txt", Buffer.from("1"));
    two.content.set("both.txt", Buffer.from("new"));
  });

  test("lists a directory, all below it, words of a path and pages", async () => {
    expect(await list()).toEqual(
      ["one:both.txt", "two:both.txt", "one:docs", "one:only-one.txt"].toSorted((a, b) =>
        a.slice(4) < b.slice(4) ? -1 : a.slice(4) > b.slice(4) ? 1 : 0,
      ),
    );
    expect(await list({ path: "docs" })).toEqual(["one:docs/50%_x.md", "one:docs/Report 2026.md", "two:docs/z.md"]);
    expect(await list({ node: "two", recursive: true })).toEqual(["two:both.txt", "two:docs/z.md"]);
    expect(await list({ query: "report 2026" })).toEqual(["one:docs/Report 2026.md"]);
    expect(await list({ query: "%_" })).toEqual(["one:docs/50%_x.md"]);
    const seen: string[] = [];
    for (let cursor = "", pages = 0; pages < 20; pages += 1) {
      const request = { workspace: ws, path: "", node: "", query: "", recursive: true, limit: 2, cursor };
      const page = await files.api.files.listFiles(request, admin);
      seen.push(...page.files.map(({ path, node }) => `${node}:${path}`));
      cursor = page.next_cursor;
      if (cursor === "") break;
    }
    expect([seen.length, new Set(seen).size]).toEqual([7, 7]);
    expect((await refusal(list({ cursor: "e30" }))).code).toBe("invalid_argument");
  });

  test("takes the newest file of a device that is on, and says where else one is when it is off", async () => {
    const read = async (path: string, node = ""): Promise<string> =>
      Buffer.from(
        (await files.api.files.readFile({ workspace: ws, path, node, offset: 0, limit: 0 }, admin)).bytes,
      ).toString();
    expect([await read("both.txt"), await read("both.txt", "one")]).toEqual(["new", "old"]);
    await turnOff("two");
    expect(await read("both.txt")).toBe("old");
    const named = await refusal(read("both.txt", "two"));
    expect([named.code, named.message]).toEqual([
      "failed_precondition",
      expect.stringMatching(/two is off since 2\S+Z.*one has it too/),
    ]);
    await turnOff("one");
    const off = await refusal(read("only-one.txt"));
    expect([off.code, off.message]).toEqual([
      "failed_precondition",
      expect.stringMatching(/^only-one.txt is on one, which is off since 2/),
    ]);
    const { files: shown } = await files.api.files.listFiles(
      { workspace: ws, path: "", node: "one", query: "", recursive: false, limit: 1, cursor: "" },
      admin,
    );
    expect(shown[0]).toMatchObject({ online: false, offline_since: expect.stringMatching(/^2/) as unknown });
    expect((await refusal(read("none.txt"))).code).toBe("not_found");
    expect((await refusal(read("a", "unknown"))).message).toContain("does not serve");
  });

  test("bytes are base64 in JSON", async () => {
    const answer = await files.api.files.readFile(
      { workspace: ws, path: "both.txt", node: "", offset: 1, limit: 2 },
      admin,
    );
    expect(JSON.parse(JSON.stringify(answer)) as unknown).toMatchObject({
      bytes: Buffer.from("ew").toString("base64"),
    });
  });

  test("a file that is gone on its device leaves the index", async () => {
    one.content.delete("only-one.txt");
    const request = { workspace: ws, path: "only-one.txt", node: "", offset: 0, limit: 0 };
    expect((await refusal(files.api.files.readFile(request, admin))).code).toBe("not_found");
    expect(await list({ query: "only-one" })).toEqual([]);
  });

  test("a download is of one content: one that changes meanwhile ends with an error", async () => {
    const big = Buffer.alloc(1_200_000, "x");
    one.content.set("only-one.txt", big);
    const open = async (): Promise<Buffer> => {
      const parts: Buffer[] = [];
      for await (const { bytes } of files.api.files.downloadFile(
        { workspace: ws, path: "only-one.txt", node: "" },
        admin,
      ))
        parts.push(Buffer.from(bytes));
      return Buffer.concat(parts);
    };
    expect((await open()).equals(big)).toBe(true);
    one.afterRead = () => one.content.set("only-one.txt", Buffer.alloc(1_200_000, "y"));
    const changed = await refusal(open());
    expect([changed.code, changed.message]).toEqual([
      "aborted",
      expect.stringContaining("was changed while it was read"),
    ]);
  });
});

describe("changing", () => {
  test("a write goes to the device that has the path, else must name one; it is listed and audited at once", async () => {
    const write = (over: object, call = admin): Promise<unknown> =>
      files.api.files.writeFile(
        { workspace: ws, path: "a.txt", node: "", bytes: Buffer.from("hi"), if_hash: "", ...over },
        call,
      );
    expect((await refusal(write({}))).message).toContain("it could be one, two");
    expect(await write({ node: "two" })).toMatchObject({
      file: { path: "a.txt", node: "two", hash: sha("hi"), size_bytes: 2 },
    });
    await write({ bytes: Buffer.from("again") });
    expect([two.content.get("a.txt")?.toString(), one.commands, await list()]).toEqual(["again", [], ["two:a.txt"]]);
    const empty = await files.api.files.writeFile(
      { workspace: ws, path: "e", node: "one", bytes: Buffer.alloc(0), if_hash: "" },
      admin,
    );
    expect([empty.file?.size_bytes, one.content.get("e")?.length]).toEqual([0, 0]);
    const audit = await fleet.tenant.store.sql<{ action: string; object: string }[]>`
      SELECT action, object FROM audit WHERE action LIKE 'file.%' ORDER BY id`;
    expect(audit.map(({ action, object }) => `${action} ${object}`)).toEqual([
      "file.write a.txt",
      "file.write a.txt",
      "file.write e",
    ]);
    const fed = await fleet.tenant.store.sql<{ kind: string }[]>`SELECT kind FROM feed_outbox WHERE kind = 'file'`;
    expect(fed.length).toBe(3);
  });

  test("copies, moves and deletes keep index and devices the same", async () => {
    one.content.set("a.bin", Buffer.alloc(1_100_000, "z"));
    await one.report({ workspace_id: ws, sync: "s", base: "", digest: "1", changed: [indexed("a.bin", "z")] });
    const { file } = await files.api.files.copyFile(
      { workspace: ws, path: "a.bin", node: "", to_node: "two", to_path: "b/c.bin" },
      admin,
    );
    expect([file?.node, two.content.get("b/c.bin")?.length]).toEqual(["two", 1_100_000]);
    const same = { workspace: ws, path: "a.bin", node: "", to_node: "", to_path: "" };
    expect((await refusal(files.api.files.copyFile(same, admin))).code).toBe("invalid_argument");
    await files.api.files.moveFile({ workspace: ws, path: "b/c.bin", node: "", to: "d.bin" }, admin);
    expect(await list({ recursive: true })).toEqual(["one:a.bin", "two:d.bin"]);
    await files.api.files.deleteFile({ workspace: ws, path: "d.bin", node: "" }, admin);
    expect([two.content.size, await list({ recursive: true })]).toEqual([0, ["one:a.bin"]]);
  });

  test("strangers see nothing and change nothing, viewers only see, whatever form a path has", async () => {
    one.content.set("a.txt", Buffer.from("a"));
    await one.report({ workspace_id: ws, sync: "s", base: "", digest: "1", changed: [indexed("a.txt", "a")] });
    const stranger = fleet.tenant.as(await fleet.tenant.user("eve", ["files"]));
    const viewer = fleet.tenant.as(await fleet.tenant.user("vic", ["files"], { workspace: ws, role: "viewer" }));
    const base = { workspace: ws, path: "a.txt", node: "" };
    const api = files.api.files;
    const reads: ((call: Call) => Promise<unknown>)[] = [
      (call) => list({}, call),
      (call) => api.readFile({ ...base, offset: 0, limit: 0 }, call),
      async (call) => {
        for await (const { bytes } of api.downloadFile(base, call)) expect(bytes.length).toBe(1);
      },
      (call) => files.contents.open(base, call),
    ];
    const writes: ((call: Call) => Promise<unknown>)[] = [
      (call) => api.writeFile({ ...base, bytes: Buffer.from("x"), if_hash: "" }, call),
      (call) => api.moveFile({ ...base, to: "b" }, call),
      (call) => api.copyFile({ ...base, to_node: "two", to_path: "" }, call),
      (call) => api.deleteFile(base, call),
    ];
    for (const act of [...reads, ...writes]) expect((await refusal(act(stranger))).code).toBe("not_found");
    for (const act of writes) expect((await refusal(act(viewer))).code).toBe("permission_denied");
    for (const act of reads) expect((await refusal(act(viewer))).code).toBe("ok");
    for (const path of ["../a.txt", "/a.txt", "a\\b", "C:/a", "a\0", "x".repeat(1_025), "\u002e\u002e/a"]) {
      expect([
        path.slice(0, 9),
        (await refusal(api.readFile({ ...base, path, offset: 0, limit: 0 }, admin))).code,
      ]).toEqual([path.slice(0, 9), "invalid_argument"]);
      expect((await refusal(api.moveFile({ ...base, to: path }, admin))).code).toBe("invalid_argument");
    }
    expect(one.content.get("a.txt")?.toString()).toBe("a");
  });

  test("a device that does not answer is named; one that refuses is heard", async () => {
    await fleet.join(fleet.device(), await fleet.token(), { name: "deaf" });
    await fleet.tenant.store.sql`
      INSERT INTO node_liveness (node_id, boot_id, hb_seq, seen_at) SELECT id, 'b', 1, now() FROM nodes WHERE name = 'deaf'
      ON CONFLICT (node_id) DO UPDATE SET seen_at = now()`;
    const read = { workspace: ws, path: "a", node: "deaf", offset: 0, limit: 0 };
    const silent = await refusal(files.api.files.readFile(read, admin));
    expect([silent.code, silent.message]).toEqual([
      "failed_precondition",
      expect.stringContaining("deaf cannot be reached"),
    ]);
    await until(async () =>
      (await refusal(files.api.files.readFile({ ...read, node: "one" }, admin))).message.includes("no such file"),
    );
  });
});
