import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock, until } from "@mesh/kernel";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { SharedState } from "../shared-state.ts";
import { bench, ScriptedProvider, settlesAtOnce } from "../testing/index.ts";
import type { AgentTool, ToolContext, ToolOutput } from "../tool.ts";
import { Capture } from "./capture.ts";
import { globMatcher } from "./file-walk.ts";
import {
  bashTool,
  codingTools,
  FileBackend,
  loadSkills,
  loadSkillsStrictly,
  openSession,
  PathSandbox,
  readFileTool,
  searchTool,
} from "./index.ts";
import { userMessage, messageText } from "../message.ts";

let dir: string;
let outside: string;

beforeEach(() => {
  const base = mkdtempSync(join(tmpdir(), "agent-"));
  dir = join(base, "ws");
  outside = join(base, "ws2");
  mkdirSync(dir);
  mkdirSync(outside);
  writeFileSync(join(outside, "secret"), "secret");
});

afterEach(() => {
  rmSync(join(dir, ".."), { recursive: true, force: true });
});

const env = { PATH: process.env["PATH"], HOME: "/nowhere", SECRET: "s3cret" };

function tools(): Map<string, AgentTool> {
  return new Map(codingTools({ clock: systemClock, cwd: dir, env }).map((tool) => [tool.name, tool]));
}

async function call(
  tool: AgentTool | undefined,
  args: object,
  signal = new AbortController().signal,
): Promise<ToolOutput> {
  const context = { signal, onUpdate: () => undefined, onProgress: () => undefined } as unknown as ToolContext;
  return tool!.execute!(args as never, context);
}

async function say(tool: AgentTool | undefined, args: object): Promise<string> {
  return messageText({ role: "user", content: (await call(tool, args)).content, timestamp: 0 });
}

test("the default set is the six tools", () => {
  expect([...tools().keys()]).toEqual(["bash", "read_file", "write_file", "edit_file", "list_files", "search"]);
});

describe("the path sandbox", () => {
  const sandbox = (): PathSandbox => new PathSandbox({ cwd: dir, roots: [dir] });

  test.each([
    ["the root itself", "."],
    ["a file in it", "a"],
    ["a file in a folder that does not exist yet", "missing/deep/a"],
    ["a climb through a missing folder that stays inside", "missing/../a"],
    ["a link to inside", "inner-link"],
  ])("lets %s pass", async (_what, path) => {
    symlinkSync(join(dir, "a"), join(dir, "inner-link"));
    expect((await sandbox().resolve(path)).startsWith(dir)).toBe(true);
  });

  test.each([
    ["a climb", "../ws2/secret"],
    ["an absolute path", "/etc/passwd"],
    ["a sibling whose name begins the same", "../ws2"],
    ["a linked folder", "link-dir/secret"],
    ["a linked file", "link-file"],
    ["a dangling link to outside", "dangling"],
    ["a climb out of a linked folder", "link-dir/../ws2/secret"],
    ["a climb through a missing folder", "missing/../../ws2/secret"],
    ["links without end", "loop"],
  ])("refuses %s without naming the allowed folders", async (_what, path) => {
    symlinkSync(outside, join(dir, "link-dir"));
    symlinkSync(join(outside, "secret"), join(dir, "link-file"));
    symlinkSync(join(outside, "new"), join(dir, "dangling"));
    symlinkSync(join(dir, "loop"), join(dir, "loop"));
    const error = await sandbox()
      .resolve(path)
      .catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ code: "permission_denied" });
    expect(String(error)).not.toContain(`${dir} `);
  });

  test("no tool reads, writes, lists or searches outside", async () => {
    symlinkSync(outside, join(dir, "link"));
    const all = tools();
    for (const [name, args] of [
      ["read_file", { path: "link/secret" }],
      ["write_file", { path: "link/new", content: "x" }],
      ["edit_file", { path: "link/secret", old_text: "secret", new_text: "x" }],
      ["list_files", { path: "link" }],
      ["search", { pattern: "secret", path: "link" }],
    ] as const) {
      await expect(call(all.get(name), args), name).rejects.toThrow("outside");
    }
    expect(readdirSync(outside)).toEqual(["secret"]);
    expect(await say(all.get("search"), { pattern: "secret" })).toBe("no matches");
  });

  test("without roots everywhere is allowed; a zero byte never", async () => {
    const free = new PathSandbox({ cwd: dir });
    expect(await free.resolve("/etc")).toBe("/etc");
    await expect(free.resolve("a\0b")).rejects.toThrow("zero byte");
  });
});

describe("bash", () => {
  test("gives output, errors and exit code; failing is an answer, not an error", async () => {
    const output = await call(tools().get("bash"), { command: "echo out; echo err >&2; exit 3" });
    expect(output.content[0]).toMatchObject({ text: "exit code: 3\nout\n\n[stderr]\nerr\n" });
    expect(output.details).toMatchObject({ exit_code: 3, success: false });
  });

  test("runs in its folder, without input, and shows only allowed variables", async () => {
    const tool = bashTool({ clock: systemClock, cwd: dir, env, allowEnv: [] });
    const text = await say(tool, { command: "pwd; cat; env" });
    expect(text).toContain(dir);
    expect(text).not.toContain("s3cret");
  });

  test("a time-out gives the output so far", async () => {
    const tool = bashTool({ clock: systemClock, cwd: dir, env, timeoutMs: 200 });
    const output = await call(tool, { command: "echo early; sleep 60" });
    expect(output.content[0]).toMatchObject({ text: expect.stringMatching(/timed out after 200 ms[\s\S]*early/) });
    expect(output.details).toMatchObject({ timed_out: true, exit_code: null });
  });

  test("keeps the beginning and the end of much output, split between characters", async () => {
    const tool = bashTool({ clock: systemClock, cwd: dir, env, maxOutputBytes: 1001 });
    const text = await say(tool, { command: "printf 'é%.0s' {1..5000}; printf END" });
    expect(text).toContain("bytes left out");
    expect(text).not.toContain("\uFFFD");
    expect(text).toContain("END");
  });

  test("refuses accidents, not ordinary work; what a person refuses is not run", async () => {
    const bash = tools().get("bash");
    await expect(call(bash, { command: "sudo rm  -rf / --no-preserve-root" })).rejects.toThrow("refused");
    expect(await say(bash, { command: "rm -rf /tmp/nothing-here-at-all; echo ok" })).toContain("ok");
    const asking = bashTool({ clock: systemClock, cwd: dir, env, confirm: () => false });
    await expect(call(asking, { command: "echo" })).rejects.toThrow("refused");
    await expect(call(bash, { command: " " })).rejects.toThrow("empty");
  });

  /** Command lines of processes that mention a mark. */
  function alive(mark: string): string[] {
    return execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })
      .split("\n")
      .filter((line) => line.includes(mark) && !line.includes("ps -eo"));
  }

  test("background processes end with the command and do not hold it", async () => {
    const startMs = systemClock.monotonic();
    expect(await say(tools().get("bash"), { command: "sleep 61.125 & echo started" })).toContain("started");
    expect(systemClock.monotonic() - startMs).toBeLessThan(5000);
    await until(() => alive("61.125").length === 0);
  });

  test("a cancelled run ends the command, its children, and those that left its group", async () => {
    const mark = `6${process.pid}.5`;
    const unmarked = `env -i $(command -v sleep) ${mark}5 &`;
    const command = `${unmarked} setsid sleep ${mark}1 & (setsid sleep ${mark}2 &) ; sleep ${mark}3 & bash -c 'sleep ${mark}4; :'; echo`;
    const run = bench(new ScriptedProvider({ calls: [{ name: "bash", arguments: { command } }] }), {
      tools: codingTools({ clock: systemClock, cwd: dir, env }),
    });
    const running = run.start("go");
    await until(() => alive(mark).filter((line) => /^\S*sleep/.test(line)).length === 5);
    expect(await settlesAtOnce(run.stop, running)).toBe(true);
    await running;
    await until(() => alive(mark).length === 0);
    expect(run.history[2]).toMatchObject({ isError: true });
  });
});

describe("read_file", () => {
  test("numbers lines and pages by default", async () => {
    writeFileSync(join(dir, "a"), Array.from({ length: 1200 }, (_, index) => `l${index + 1}`).join("\n"));
    const read = tools().get("read_file");
    const first = await say(read, { path: "a" });
    expect(first).toMatch(/^a \(lines 1-500 of 1200\)\n  1 \| l1\n/);
    expect(await say(read, { path: "a", offset: 1199, limit: 10 })).toBe(
      "a (lines 1199-1200 of 1200)\n1199 | l1199\n1200 | l1200",
    );
    await expect(call(read, { path: "a", offset: 2000 })).rejects.toThrow("1200 lines");
    const whole = readFileTool({ sandbox: new PathSandbox({ cwd: dir }), pageLines: Infinity });
    expect(await say(whole, { path: "a" })).toContain("a (1200 lines)");
  });

  test("reads a page of a file too large to hold, one endless line included", async () => {
    writeFileSync(join(dir, "big"), `${"x".repeat(3_000_000)}\nsecond\nthird`);
    const text = await say(tools().get("read_file"), { path: "big", offset: 2, limit: 1 });
    expect(text).toBe("big (lines 2-2, more follow)\n2 | second");
    expect((await say(tools().get("read_file"), { path: "big", limit: 1 })).length).toBeLessThan(2200);
  });

  test("shows images, reads BOM, CRLF and UTF-16, and refuses binaries, folders and pipes", async () => {
    writeFileSync(join(dir, "i.PNG"), Buffer.from([1, 2, 3]));
    writeFileSync(join(dir, "bom"), "\uFEFFa\r\nb\r\n");
    writeFileSync(join(dir, "wide"), Buffer.from("\uFEFFhé", "utf16le"));
    writeFileSync(join(dir, "bin"), Buffer.from([65, 0, 66]));
    writeFileSync(join(dir, "empty"), "");
    execFileSync("mkfifo", [join(dir, "pipe")]);
    const read = tools().get("read_file");
    expect((await call(read, { path: "i.PNG" })).content).toEqual([
      { type: "image", data: "AQID", mimeType: "image/png" },
    ]);
    expect(await say(read, { path: "bom" })).toBe("bom (2 lines)\n1 | a\n2 | b");
    expect(await say(read, { path: "wide" })).toBe("wide (1 lines)\n1 | hé");
    expect(await say(read, { path: "empty" })).toBe("empty (0 lines)");
    await expect(call(read, { path: "bin" })).rejects.toThrow("not a text file");
    await expect(call(read, { path: "." })).rejects.toThrow("list_files");
    await expect(call(read, { path: "pipe" })).rejects.toThrow("not a regular file");
    await expect(call(read, { path: "nope" })).rejects.toThrow("nope does not exist");
  });
});

describe("write_file and edit_file", () => {
  test("writing creates folders, keeps the mode, and leaves nothing behind", async () => {
    const write = tools().get("write_file");
    expect(await say(write, { path: "x/y/z", content: "é" })).toBe("wrote 2 bytes to x/y/z");
    writeFileSync(join(dir, "run.sh"), "a");
    chmodSync(join(dir, "run.sh"), 0o755);
    await call(write, { path: "run.sh", content: "b" });
    expect(statSync(join(dir, "run.sh")).mode & 0o777).toBe(0o755);
    await expect(call(write, { path: "x", content: "" })).rejects.toThrow("is a folder");
    expect(readdirSync(dir).toSorted()).toEqual(["run.sh", "x"]);
  });

  test("an edit needs exactly one place, and says why when it has none or many", async () => {
    writeFileSync(join(dir, "a"), "one\n  two\ntwo\n");
    const edit = tools().get("edit_file");
    expect(await say(edit, { path: "a", old_text: "one", new_text: "1$&" })).toContain("-one\n+1$&");
    expect(readFileSync(join(dir, "a"), "utf8")).toBe("1$&\n  two\ntwo\n");
    await expect(call(edit, { path: "a", old_text: "two", new_text: "2" })).rejects.toThrow("2 times");
    await expect(call(edit, { path: "a", old_text: "    two\nx", new_text: "2" })).rejects.toThrow("Line 2");
    await expect(call(edit, { path: "a", old_text: "", new_text: "2" })).rejects.toThrow("empty");
    await expect(call(edit, { path: "a", old_text: "x", new_text: "x" })).rejects.toThrow("the same");
    await call(edit, { path: "a", old_text: "two", new_text: "2", replace_all: true });
    expect(readFileSync(join(dir, "a"), "utf8")).toBe("1$&\n  2\n2\n");
  });

  test("several edits apply together or not at all, and line ends stay as they are", async () => {
    writeFileSync(join(dir, "a"), "one\r\ntwo\r\nthree\r\n");
    const edit = tools().get("edit_file");
    const bad = [
      { old_text: "one", new_text: "1" },
      { old_text: "nope", new_text: "x" },
    ];
    await expect(call(edit, { path: "a", edits: bad })).rejects.toThrow("edit 2");
    expect(readFileSync(join(dir, "a"), "utf8")).toBe("one\r\ntwo\r\nthree\r\n");
    await call(edit, { path: "a", edits: [{ old_text: "one\ntwo", new_text: "1\n2" }] });
    expect(readFileSync(join(dir, "a"), "utf8")).toBe("1\r\n2\r\nthree\r\n");
  });

  test("a file that changed since it was read is not overwritten", async () => {
    writeFileSync(join(dir, "a"), "one");
    const all = tools();
    await call(all.get("read_file"), { path: "a" });
    utimesSync(join(dir, "a"), 1, 1);
    await expect(call(all.get("write_file"), { path: "a", content: "x" })).rejects.toThrow("changed since");
    await call(all.get("read_file"), { path: "a" });
    await call(all.get("write_file"), { path: "a", content: "x" });
    await call(all.get("edit_file"), { path: "a", old_text: "x", new_text: "y" });
    expect(readFileSync(join(dir, "a"), "utf8")).toBe("y");
  });
});

describe("list_files and search", () => {
  beforeEach(() => {
    for (const path of ["a.ts", "b.md", "src/c.ts", "node_modules/x.ts", "d1/d2/d3/deep.ts"]) {
      mkdirSync(join(dir, path, ".."), { recursive: true });
      writeFileSync(join(dir, path), `first\nNeedle in ${path}\n`);
    }
  });

  test("list sorted files by depth and glob, without dependencies", async () => {
    const list = tools().get("list_files");
    expect(await say(list, { pattern: "*.ts" })).toBe("a.ts\nsrc/c.ts");
    expect(await say(list, { max_depth: 4, pattern: "*.{ts,md}" })).toContain("d1/d2/d3/deep.ts");
    expect(await say(list, { pattern: "-exec" })).toBe("(no files)");
    await expect(call(list, { path: "nope" })).rejects.toThrow("does not exist");
  });

  test("list says what it left out and what it could not read", async () => {
    for (let index = 0; index < 205; index += 1) writeFileSync(join(dir, "src", `f${index}`), "");
    const output = await call(tools().get("list_files"), { path: "src" });
    expect(output.details).toMatchObject({ total: 206, truncated: true, warnings: null });
  });

  const find = (useRipgrep: boolean): AgentTool =>
    searchTool({ sandbox: new PathSandbox({ cwd: dir, roots: [dir] }), clock: systemClock, useRipgrep });

  test.each([true, false])("search with ripgrep %s finds lines, bounded, and can be narrowed", async (useRipgrep) => {
    const search = find(useRipgrep);
    expect(await say(search, { pattern: "needle in a", include: "*.ts" })).toBe("a.ts:2:Needle in a.ts");
    expect(await say(search, { pattern: "needle", case_sensitive: true })).toBe("no matches");
    expect(await say(search, { pattern: "needle", path: "b.md" })).toBe("b.md:2:Needle in b.md");
    writeFileSync(join(dir, "many"), "Needle\n".repeat(60));
    const many = await call(search, { pattern: "^Needle$" });
    expect(many.details).toMatchObject({ matches: 50, truncated: true });
    await expect(call(search, { pattern: "(" })).rejects.toThrow();
  });

  test.each([
    [true, { pattern: "--files" }],
    [true, { pattern: "-e" }],
    [true, { pattern: "x", include: "--pre=touch pwned" }],
    [false, { pattern: "--files" }],
  ])("search with ripgrep %s takes %j as text, never as an option", async (useRipgrep, args) => {
    expect(await say(find(useRipgrep), args)).toBe("no matches");
    expect(existsSync(join(dir, "pwned"))).toBe(false);
    await expect(call(find(useRipgrep), { pattern: "x", path: "-x" })).rejects.toThrow("-x does not exist");
  });

  test("globs match as shells do", () => {
    const cases: [string, string, boolean][] = [
      ["*.ts", "a/b.ts", true],
      ["*.ts", "b.tsx", false],
      ["a?c", "abc", true],
      ["[!a]b", "cb", true],
      ["src/**/*.ts", "src/x/y/z.ts", true],
      ["src/**/*.ts", "src/z.ts", true],
      ["src/*.ts", "src/x/z.ts", false],
      ["a.{b,c}", "a.c", true],
      ["a+b", "a+b", true],
    ];
    expect(cases.map(([glob, path]) => globMatcher(glob)(path))).toEqual(cases.map(([, , expected]) => expected));
  });
});

describe("folders", () => {
  test("a session survives a crash in the middle of a line", () => {
    const path = join(dir, "s", "session.jsonl");
    {
      using file = openSession(path);
      file.session.append(userMessage("a", 1));
      file.session.append(userMessage("b", 1));
      file.session.seek("e1");
      file.sync();
    }
    writeFileSync(path, `${readFileSync(path, "utf8")}{"entry":{"id":"e3","par`);
    using again = openSession(path);
    expect([again.session.size, again.session.head]).toEqual([2, "e1"]);
    again.session.append(userMessage("c", 1));
    using third = openSession(path);
    expect(third.session.pathMessages().map(messageText)).toEqual(["a", "c"]);
  });

  test("shared state in a folder: any key, bounded, hidden files ignored, nothing outside", async () => {
    const folder = join(dir, "state");
    const state = new SharedState(new FileBackend({ folder, capacity: 200 }));
    for (const key of ["../../x", "a/b", ".hidden", "ü"]) await state.set(key, key);
    expect((await state.keys()).toSorted()).toEqual(["../../x", ".hidden", "a/b", "ü"].toSorted());
    writeFileSync(join(folder, ".DS_Store"), "");
    expect(await state.keys()).toHaveLength(4);
    await state.set("tool-out-1", "x".repeat(90));
    await Promise.all([state.set("m", "y".repeat(80)), state.set("n", "z")]);
    expect(await state.has("tool-out-1")).toBe(false);
    await expect(state.set("big", "x".repeat(300))).rejects.toThrow("full");
    expect(await state.get("m")).toBe("y".repeat(80));
    expect(readdirSync(dir)).toEqual(["state"]);
    await expect(state.set("", "x")).rejects.toThrow("empty");
  });

  test("skills: later folders win, a broken one replaces nothing, and the strict loader stops", async () => {
    const skill = (folder: string, name: string, text: string | Buffer): void => {
      mkdirSync(join(dir, folder, name), { recursive: true });
      writeFileSync(join(dir, folder, name, "SKILL.md"), text);
    };
    const text = (description: string): string => `---\nname: x\ndescription: ${description}\n---\n`;
    skill("one", "b", text("first b"));
    skill("one", "a", text("first a"));
    skill("two", "b", text("second b"));
    skill("two", "a", "broken");
    skill("two", "c", Buffer.from([0xff, 0xfe]));
    writeFileSync(join(dir, "two", "README"), "");
    const folders = ["one", "two", "missing"].map((name) => join(dir, name));
    const loaded = await loadSkills(folders);
    expect(loaded.skills.map((each) => each.description)).toEqual(["first a", "second b"]);
    expect(loaded.faults.map((fault) => fault.path)).toEqual(
      ["a", "c"].map((name) => join(dir, "two", name, "SKILL.md")),
    );
    await expect(loadSkillsStrictly(folders)).rejects.toThrow("frontmatter");
  });
});

test("a capture keeps little of much", () => {
  const capture = new Capture(10);
  for (let index = 0; index < 1000; index += 1) capture.push(Buffer.from("abc"));
  expect(capture.text()).toBe("abcab\n[... 2990 bytes left out ...]\nbcabc");
  const whole = new Capture(10);
  whole.push(Buffer.from("ab"));
  whole.push(Buffer.from("cdefgh"));
  expect(whole.text()).toBe("abcdefgh");
});
