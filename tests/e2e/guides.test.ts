/** Guides tell the truth: their commands print what they say, in the order in which they stand. */

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { demoAppDirectory } from "@mesh/assistants";
import { errorText, until } from "@mesh/kernel";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { WebhookReceiver } from "../conformance/webhook-receiver.ts";
import { TestMesh } from "../harness/test-mesh.ts";
import { YAO_MAIN } from "./yao-command.ts";

const GUIDES = resolve(import.meta.dirname, "../../docs/guides");
const LIMIT_MS = 60_000;
const HOOK_URL = "https://example.com/hook";

/** What the reader has before the guide begins. */
const FILES: Readonly<Record<string, string>> = {
  "notes.md": "# Harbour\n\nThe quay wall is too low.\n",
  "handbook.md": "# Handbook\n\nWhom to call at night.\n",
  "report.md": "# Tide report\n\nThe harbour floods at spring tide.\n",
};

/** What only looks may be repeated until it shows what the promised state is: a device tells of its files a moment later. */
const LOOKS =
  /^(?:yao|curl)\b.*(?: list\b| show\b| ls\b| find\b| search\b| inbox\b| cat\b| deliveries\b|^curl (?!.*-X))/;

interface GuideCommand {
  readonly command: string;
  readonly printed: readonly string[];
}

/** The lines after `$ ` and what stands below each of them. */
function commandsOf(guide: string): readonly GuideCommand[] {
  const text = readFileSync(join(GUIDES, guide), "utf8");
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, block = ""]) => {
    const [before, ...commands] = `\n${block}`.split("\n$ ");
    if (before !== "") throw new Error(`${guide}: this is shown before any command: ${before}`);
    return commands.map((lines) => {
      const [command = "", ...printed] = lines.replace(/\n+$/, "").split("\n");
      return { command, printed };
    });
  });
}

/** The promised lines as one pattern: … stands for anything in its line, a line of it alone for any lines. */
function patternOf(lines: readonly string[]): RegExp {
  const parts = lines.map((line) => {
    if (line === "…") return "(?:.*\n)*";
    const texts = evenly(`${line}\n`)
      .slice(0, -1)
      .split("…")
      .map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return `${texts.join(".*")}\n`;
  });
  return new RegExp(`^${parts.join("")}$`);
}

/** Columns are as wide as ids and times make them. */
function evenly(text: string): string {
  return text
    .replaceAll(/ +/g, " ")
    .replaceAll(/ $/gm, "")
    .replace(/[^\n]$/, "$&\n");
}

describe.each(["board.md", "files.md", "api.md"])("%s", (guide) => {
  let mesh: TestMesh;
  /** What https://example.com/hook stands for. */
  let receiver: WebhookReceiver;
  let dir: string;
  const ids = new Map<string, string>();

  beforeAll(async () => {
    receiver = await WebhookReceiver.start();
    mesh = await TestMesh.start({
      env: { YAO_WEBHOOK_ALLOW: "127.0.0.0/8" },
      nodes: [{ name: "laptop", labels: { room: "office" } }, { name: "server" }],
    });
    await mesh.pushApp("demo", demoAppDirectory);
    dir = mkdtempSync(join(tmpdir(), "yao-guide-"));
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(dir, name), text);
  });

  afterAll(async () => {
    await mesh?.stop();
    await receiver?.[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true });
  });

  /** An id with … in place of its end is the newest of its kind that was printed. */
  const known = (command: string): string =>
    command.replaceAll(/\b([a-z]+_)…/g, (id, kind: string) => ids.get(kind) ?? id).replaceAll(HOOK_URL, receiver.url);

  async function run(command: string): Promise<string> {
    const script = `yao() { '${process.execPath}' '${YAO_MAIN}' "$@"; }\n${known(command)}\n`;
    const env = { PATH: process.env["PATH"] ?? "", YAO_HOME: dir, YAO_URL: mesh.api.url, YAO_TOKEN: mesh.api.token };
    const text = await new Promise<string>((done) => {
      execFile("bash", ["--norc", "-c", script], { cwd: dir, env, timeout: LIMIT_MS }, (_error, out, err) =>
        done((out + err).replaceAll(receiver.url, HOOK_URL)),
      );
    });
    for (const [id, kind = ""] of text.matchAll(/\b([a-z]+_)[0-9a-z]{20,}/g)) ids.set(kind, id);
    return evenly(text);
  }

  test("has commands", () => {
    expect(commandsOf(guide).length).toBeGreaterThan(6);
  });

  test.each(commandsOf(guide))("$command", { timeout: 2 * LIMIT_MS }, async ({ command, printed }) => {
    const pattern = patternOf(printed);
    let text = await run(command);
    if (LOOKS.test(command)) {
      const look = async (): Promise<boolean> => pattern.test(text) || pattern.test((text = await run(command)));
      await until(look, { timeoutMs: LIMIT_MS / 2, everyMs: 200 }).catch((error: unknown) => errorText(error));
    }
    expect(text).toMatch(pattern);
  });
});
