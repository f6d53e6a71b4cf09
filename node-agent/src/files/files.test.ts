/** The files of a workspace on a device: commands, walks, and what the coordinator is told. */

import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { inflateSync } from "node:zlib";

import { MeshError, systemClock, until } from "@mesh/kernel";
import { CommandAnswer, type FileCommand, FilesAnswer, FilesReport, FileTextReport } from "@mesh/proto/wire";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { silentLog } from "../log.ts";
import { FileCommands } from "./file-command.ts";
import { EMPTY_DIGEST, loadIndex, moved, saveIndex } from "./file-index.ts";
import { ignoreOf } from "./ignore.ts";
import { FileIndexer } from "./indexer.ts";
import { RunTimes } from "./run-times.ts";
import { scan } from "./scan.ts";

const WS = "ws_1";
const { signal } = new AbortController();
const sha = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

let outer: string;
let dir: string;
let touched: string[];
let commands: FileCommands;

beforeEach(() => {
  outer = mkdtempSync(join(tmpdir(), "yao-node-files-"));
  dir = join(outer, "workspaces", WS);
  touched = [];
  commands = new FileCommands({
    clock: systemClock,
    workspaceDir: (id) => join(outer, "workspaces", id),
    draftDir: join(outer, "drafts"),
    touched: (_id, paths) => void touched.push(...paths),
  });
});

afterEach(() => rmSync(outer, { recursive: true, force: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
}

function act(path: string, action: FileCommand["action"]): Promise<CommandAnswer> {
  return commands.execute({ workspace_id: WS, path, action });
}

async function write(
  path: string,
  parts: readonly string[],
  over: { hash?: string; if_hash?: string; draft?: string } = {},
): Promise<CommandAnswer> {
  const whole = parts.join("");
  let offset = 0;
  let answer: CommandAnswer | undefined;
  for (const [n, part] of parts.entries()) {
    const last = n === parts.length - 1;
    const value = {
      draft: over.draft ?? "d1",
      offset,
      bytes: Buffer.from(part),
      last,
      hash: over.hash ?? sha(whole),
      if_hash: over.if_hash ?? "",
    };
    answer = await act(path, { $case: "write", value });
    offset += Buffer.byteLength(part);
  }
  return answer ?? CommandAnswer.fromPartial({});
}

const stat = (path: string): Promise<CommandAnswer> => act(path, { $case: "stat", value: {} });
const read = (path: string, offset = 0, limit = 100): Promise<CommandAnswer> =>
  act(path, { $case: "read", value: { offset, limit } });
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "ok",
    (error: unknown) => MeshError.from(error).code,
  );

describe("commands", () => {
  test("a file is written part by part, whole or not at all, then described, read, moved and deleted", async () => {
    expect((await write("a/b.txt", ["hello ", "world"])).file).toMatchObject({
      path: "a/b.txt",
      size_bytes: 11,
      hash: sha("hello world"),
    });
    expect([readFileSync(join(dir, "a/b.txt"), "utf8"), readdirSync(join(outer, "drafts"))]).toEqual([
      "hello world",
      [],
    ]);
    expect(Buffer.from((await read("a/b.txt", 6, 3)).bytes).toString()).toBe("wor");
    expect((await read("a/b.txt", 99)).bytes.length).toBe(0);
    const before = (await stat("a/b.txt")).file?.revision;
    expect((await act("a/b.txt", { $case: "move", value: { to: "c/d.txt" } })).file).toMatchObject({
      path: "c/d.txt",
      hash: sha("hello world"),
    });
    expect((await stat("c/d.txt")).file?.revision).not.toBe(before);
    await act("c/d.txt", { $case: "delete", value: {} });
    await act("c", { $case: "delete", value: {} });
    expect([existsSync(join(dir, "c")), touched]).toEqual([false, ["a/b.txt", "a/b.txt", "c/d.txt", "c/d.txt", "c"]]);
  });

  test("a damaged, broken or unexpected write leaves everything as it was", async () => {
    put("a.txt", "old");
    expect(await codeOf(write("a.txt", ["new"], { hash: sha("other") }))).toBe("data_loss");
    expect(
      await codeOf(
        act("a.txt", {
          $case: "write",
          value: { draft: "d2", offset: 5, bytes: Buffer.from("x"), last: true, hash: "", if_hash: "" },
        }),
      ),
    ).toBe("aborted");
    expect(await codeOf(write("a.txt", ["new"], { if_hash: "none" }))).toBe("aborted");
    expect(await codeOf(write("a.txt", ["new"], { if_hash: sha("else") }))).toBe("aborted");
    expect(await codeOf(write("b.txt", ["new"], { if_hash: sha("else") }))).toBe("aborted");
    expect(await codeOf(write("a.txt", ["new"], { draft: "../d" }))).toBe("invalid_argument");
    expect([readFileSync(join(dir, "a.txt"), "utf8"), readdirSync(dir), readdirSync(join(outer, "drafts"))]).toEqual([
      "old",
      ["a.txt"],
      [],
    ]);
    expect((await write("a.txt", ["new"], { if_hash: sha("old") })).file?.hash).toBe(sha("new"));
  });

  test("what is there is not moved over, and a full directory is not deleted", async () => {
    put("a.txt", "a");
    put("d/b.txt", "b");
    expect(await codeOf(act("a.txt", { $case: "move", value: { to: "d/b.txt" } }))).toBe("already_exists");
    expect(await codeOf(act("d", { $case: "move", value: { to: "d/e" } }))).toBe("invalid_argument");
    expect(await codeOf(act("d", { $case: "delete", value: {} }))).toBe("failed_precondition");
    expect(await codeOf(act("none", { $case: "delete", value: {} }))).toBe("not_found");
    expect(await codeOf(read("d"))).toBe("failed_precondition");
    expect(await codeOf(read("a.txt", 0, 600_000))).toBe("invalid_argument");
  });

  test.each(["../secret", "a/../../secret", "/etc/passwd", "a\\b", "a\0b", "x".repeat(2_000), "a//b", "./a"])(
    "the path %j is refused",
    async (path) => {
      put("a/x", "x");
      for (const action of [
        { $case: "stat", value: {} },
        { $case: "delete", value: {} },
        { $case: "move", value: { to: "y" } },
      ] as const) {
        expect(await codeOf(act(path, action))).toBe("invalid_argument");
      }
      expect(await codeOf(write(path, ["x"]))).toBe("invalid_argument");
      expect(await codeOf(act("a/x", { $case: "move", value: { to: path } }))).toBe("invalid_argument");
    },
  );

  test("no link leads out, on the way or at the end; a link itself can be deleted", async () => {
    put("a.txt", "a");
    writeFileSync(join(outer, "secret"), "secret");
    symlinkSync(outer, join(dir, "out"));
    symlinkSync(join(outer, "secret"), join(dir, "link"));
    for (const path of ["out/secret", "link"]) {
      expect(await codeOf(stat(path))).toBe("permission_denied");
      expect(await codeOf(read(path))).toBe("permission_denied");
      expect(await codeOf(write(path, ["mine"]))).toBe("permission_denied");
      expect(await codeOf(act("a.txt", { $case: "move", value: { to: path } }))).toBe("permission_denied");
    }
    expect(await codeOf(act("out/secret", { $case: "delete", value: {} }))).toBe("permission_denied");
    await act("link", { $case: "delete", value: {} });
    expect([readFileSync(join(outer, "secret"), "utf8"), existsSync(join(dir, "link"))]).toEqual(["secret", false]);
  });
});

describe("a walk", () => {
  test("finds files and directories, follows no link, and leaves out what is ignored or cannot be named", async () => {
    put("docs/a.md", "a");
    put("node_modules/x/y.js", "no");
    put(".git/HEAD", "no");
    put("build/out.o", "no");
    put("src/deep/x.log", "no");
    put("src/keep.ts", "yes");
    put("bad\\name", "no");
    put(".yaoignore", "# ours\nbuild/\n*.log\n/top.txt\n");
    put("top.txt", "no");
    put("src/top.txt", "yes");
    symlinkSync("/etc", join(dir, "etc"));
    const { index, isCut } = await scan(dir, new Map(), signal);
    expect([[...index.keys()].toSorted(), isCut]).toEqual([
      [".yaoignore", "docs", "docs/a.md", "src", "src/deep", "src/keep.ts", "src/top.txt"],
      false,
    ]);
    expect(index.get("docs/a.md")).toMatchObject({ size: 1, hash: sha("a"), isDirectory: false });
  });

  test("reads only what has changed, also where a time was set back", async () => {
    put("a", "one");
    put("b", "two");
    utimesSync(join(dir, "a"), 1_000, 1_000);
    const first = (await scan(dir, new Map(), signal)).index;
    writeFileSync(join(dir, "a"), "eno");
    utimesSync(join(dir, "a"), 1_000, 1_000);
    const second = (await scan(dir, first, signal)).index;
    expect([second.get("a")?.hash, second.get("b") === first.get("b")]).toEqual([sha("eno"), true]);
  });

  if (process.getuid?.() === 0) process.stderr.write("skipped: root can read everything\n");
  test.skipIf(process.getuid?.() === 0)("keeps what it cannot read just now", async () => {
    put("docs/a.md", "a");
    put("b", "b");
    const { index } = await scan(dir, new Map(), signal);
    chmodSync(join(dir, "docs"), 0);
    rmSync(join(dir, "b"));
    const { index: later } = await scan(dir, index, signal);
    chmodSync(join(dir, "docs"), 0o700);
    expect([...later.keys()].toSorted()).toEqual(["docs", "docs/a.md"]);
  });

  test("globs of a hostile .yaoignore are bounded", () => {
    const ignore = ignoreOf(`${"*a".repeat(30)}\n${"x".repeat(400)}\n[\n(\n`);
    const startedMs = systemClock.monotonic();
    expect(ignore("a".repeat(200), false)).toBe(false);
    expect([ignore("[", false), ignore("node_modules", true)]).toEqual([true, true]);
    expect(systemClock.monotonic() - startedMs).toBeLessThan(500);
  });
});

test("the digest does not depend on order, and what is kept is what was there; a damaged index is empty", async () => {
  put("a", "1");
  put("b", "2");
  const { index } = await scan(dir, new Map(), signal);
  const entries = [...index.values()];
  expect(moved(EMPTY_DIGEST, entries)).toBe(moved(EMPTY_DIGEST, entries.toReversed()));
  expect(moved(moved(EMPTY_DIGEST, entries), entries)).toBe(EMPTY_DIGEST);
  const path = join(outer, "index");
  await saveIndex(path, index);
  expect(await loadIndex(path)).toEqual(index);
  writeFileSync(path, '["a",0\n');
  expect([(await loadIndex(path)).size, (await loadIndex(join(outer, "none"))).size]).toEqual([0, 0]);
});

test("a file is of the run that worked when it changed", () => {
  const runs = new RunTimes();
  runs.began("r1", 1_000);
  runs.began("r2", 2_000);
  runs.ended("r2", 3_000);
  expect([runs.at(500), runs.at(1_500), runs.at(2_500), runs.at(9_000)]).toEqual(["", "r1", "r2", "r1"]);
  runs.ended("r1", 4_000);
  runs.forgetBefore(3_500);
  expect([runs.at(2_500), runs.at(9_000)]).toEqual(["r1", ""]);
});

/** The coordinator's side of the reports, as little of it as it takes. */
class Ear {
  digest = "";
  readonly files = new Map<string, string>();
  readonly pages: FilesReport[] = [];
  readonly texts: FileTextReport[] = [];
  wanted: { path: string; hash: string }[] = [];
  refusal: MeshError | undefined;
  loseAnswers = 0;

  readonly ask = async (method: string, data: Uint8Array): Promise<Uint8Array> => {
    if (this.refusal !== undefined) throw this.refusal;
    if (method === "file_text") {
      const report = FileTextReport.decode(data);
      this.texts.push(report);
      this.wanted = this.wanted.filter(({ path }) => path !== report.path);
      return new Uint8Array();
    }
    const page = FilesReport.decode(data);
    this.pages.push(page);
    const starts = page.sync !== "" && page.first;
    const isRepeated = this.digest === page.digest && page.base !== page.digest && !starts;
    if (!isRepeated && !starts && this.digest !== page.base)
      return FilesAnswer.encode({ resync: true, wanted: [] }).finish();
    if (starts) this.files.clear();
    for (const file of page.changed) this.files.set(file.path, file.run_id);
    for (const path of page.gone) this.files.delete(path);
    this.digest = page.digest;
    if (this.loseAnswers > 0) {
      this.loseAnswers -= 1;
      throw new MeshError("internal", "the answer was lost");
    }
    return FilesAnswer.encode({ resync: false, wanted: page.last ? this.wanted : [] }).finish();
  };
}

describe("the indexer", () => {
  let ear: Ear;
  let stop: AbortController;
  let running: Promise<void>;

  function start(): FileIndexer {
    const indexer = new FileIndexer({
      clock: systemClock,
      log: silentLog,
      ask: ear.ask,
      workspacesDir: join(outer, "workspaces"),
      workspaceDir: (id) => join(outer, "workspaces", id),
      indexDir: join(outer, "files"),
    });
    stop = new AbortController();
    running = indexer.run(stop.signal);
    indexer.connected(true);
    return indexer;
  }

  async function restart(): Promise<FileIndexer> {
    stop.abort();
    await running;
    return start();
  }

  beforeEach(() => {
    ear = new Ear();
  });
  afterEach(async () => {
    stop.abort();
    await running;
  });

  test("tells everything once, then only differences, then only asks whether all is as it was", async () => {
    for (let n = 0; n < 1_200; n += 1) put(`d/${n}.txt`, String(n));
    const indexer = start();
    await until(() => ear.files.size === 1_201 && ear.pages.at(-1)?.last === true);
    const told = ear.pages.length;
    expect(told).toBeGreaterThan(3);
    put("new.txt", "new");
    rmSync(join(dir, "d/7.txt"));
    indexer.touched(WS, []);
    await until(() => ear.files.has("new.txt") && !ear.files.has("d/7.txt"));
    expect(ear.pages.length).toBe(told + 1);
    await restart();
    await until(() => ear.pages.length === told + 2);
    const last = ear.pages.at(-1);
    expect([last?.changed, last?.gone, last?.base === last?.digest]).toEqual([[], [], true]);
  });

  test("heals by itself when the coordinator knows something else, and when an answer was lost", async () => {
    put("a", "a");
    put("b", "b");
    start();
    await until(() => ear.files.size === 2);
    ear.files.clear();
    ear.digest = "of another life";
    await restart();
    await until(() => ear.files.size === 2);
    put("c", "c");
    ear.loseAnswers = 1;
    await restart();
    await until(() => ear.pages.filter(({ changed }) => changed.some(({ path }) => path === "c")).length >= 2);
    expect([...ear.files.keys()].toSorted()).toEqual(["a", "b", "c"]);
  });

  test("a path that was written by command is told even where nothing seems to have changed", async () => {
    put("a", "a");
    const indexer = start();
    await until(() => ear.files.has("a"));
    ear.files.set("gone-again", "");
    indexer.touched(WS, ["a", "gone-again"]);
    await until(() => !ear.files.has("gone-again"));
    expect(ear.pages.at(-1)?.changed.map(({ path }) => path)).toEqual(["a"]);
  });

  test("says which run wrote a file, and sends the text of documents that are asked for", async () => {
    mkdirSync(dir, { recursive: true });
    const indexer = start();
    await until(() => ear.pages.length > 0);
    indexer.runBegan(WS, "run_1");
    put("docs/a.md", "# A\nwords");
    put("docs/b.bin.md", "\0\u0001");
    ear.wanted = [
      { path: "docs/a.md", hash: sha("# A\nwords") },
      { path: "docs/b.bin.md", hash: sha("\0\u0001") },
      { path: "docs/none.md", hash: sha("") },
      { path: "docs/a.md", hash: sha("changed since") },
    ];
    indexer.runEnded(WS, "run_1");
    await until(() => ear.texts.length === 3);
    expect(ear.files.get("docs/a.md")).toBe("run_1");
    const [text, binary, none] = ear.texts;
    expect(inflateSync(text?.deflated ?? Buffer.alloc(0)).toString()).toBe("# A\nwords");
    expect([binary?.failure, none?.failure]).toEqual([
      expect.stringContaining("cannot be read"),
      expect.stringContaining("no such file"),
    ]);
  });

  test("a workspace that is not wanted from here is left alone until the connection is new", async () => {
    put("a", "a");
    ear.refusal = new MeshError("permission_denied", "not served");
    const indexer = start();
    indexer.touched(WS, ["a"]);
    ear.refusal = new MeshError("permission_denied", "not served");
    indexer.connected(false);
    ear.refusal = undefined;
    indexer.connected(true);
    await until(() => ear.files.has("a"));
  });
});
