/** Attachments of messages in whole runs: real script host, real MCP, a scripted model. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import type { Json, JsonObject } from "@mesh/kernel";
import type { StreamConfig } from "@mesh/llm";
import { afterAll, describe, expect, test } from "vitest";

import type { ChatMessage } from "../chat-message.ts";
import type { LocalService } from "../local-state.ts";
import { type AppRun, assistant, TestApp } from "../testing/app-run.ts";
import { dataUri, docxFile, pdfFile, PNG, WAV } from "@mesh/documents/testing";

const open: AsyncDisposable[] = [];

function appOf(...parts: readonly Readonly<Record<string, string>>[]): TestApp {
  return appWith({}, ...parts);
}

function appWith(
  services: ConstructorParameters<typeof TestApp>[1],
  ...parts: readonly Readonly<Record<string, string>>[]
): TestApp {
  const made = new TestApp(Object.assign({}, ...parts) as Record<string, string>, services);
  expect(made.problems.filter(({ severity }) => severity === "error")).toEqual([]);
  open.push(made);
  return made;
}

afterAll(async () => {
  for (const each of open) await each[Symbol.asyncDispose]();
});

const BLIND = {
  "connectors/blind.conn.yao": JSON.stringify({
    type: "openai",
    options: { model: "blind", key: "k", capabilities: { vision: false } },
  }),
};
const SEEING = {
  "connectors/seeing.conn.yao": JSON.stringify({ type: "openai", options: { model: "seeing", key: "k" } }),
};

interface Asking extends Partial<Omit<Parameters<TestApp["run"]>[2] & object, "input">> {
  readonly options?: JsonObject;
  readonly assistant?: string;
}

/** Runs assistant `a` with one user message of these parts, or with these messages. */
function ask(
  app: TestApp,
  parts: readonly Json[],
  { options = {}, assistant: id = "a", ...more }: Asking = {},
): Promise<AppRun> {
  const messages = parts.some((part) => typeof part === "object" && part !== null && "role" in part)
    ? parts
    : [{ role: "user", content: parts }];
  return app.run(id, "", { ...more, input: { options: { ...options, messages: messages as unknown as Json } } });
}

/** Parts of the last user message that a model was sent. */
function told(request: StreamConfig | undefined): readonly unknown[] {
  const message = request?.messages.findLast(({ role }) => role === "user");
  return message?.content.map((part) => (part.type === "text" ? part.text : part)) ?? [];
}

/** The same, short enough to be printed. */
function beginnings({ provider }: AppRun): readonly string[] {
  return told(provider.requests[0]).map((part) => JSON.stringify(part).slice(0, 200));
}

function image(bytes: Uint8Array, mimeType = "image/png"): JsonObject {
  return { type: "image_url", image_url: { url: dataUri(mimeType, bytes) } };
}

function file(name: string, bytes: Uint8Array): JsonObject {
  return { type: "file", file: { url: dataUri("application/octet-stream", bytes), filename: name } };
}

const ok = { steps: [{ text: "ok" }] };
const SHOWN = { type: "image", data: Buffer.from(PNG).toString("base64"), mimeType: "image/png" };

describe("a run's option messages", () => {
  test("is the conversation, in place of the input", async () => {
    const app = appOf(
      assistant("a", {
        prompt: "x",
        hooks: `function Create(ctx, messages, options) { return { metadata: { seen: messages.length, keys: Object.keys(options) } }; }
        function Next(ctx) { return { data: ctx.metadata }; }`,
      }),
    );
    const said: readonly ChatMessage[] = [
      { role: "user", content: "one" },
      { role: "assistant", content: "two" },
      { role: "user", content: [{ type: "text", text: "three" }] },
    ];
    const { outcome, provider, error } = await ask(app, said as unknown as readonly Json[], ok);
    expect(error).toBeUndefined();
    expect(provider.requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(told(provider.requests[0])).toEqual(["three"]);
    // Hooks get the messages as such, not once more among the options.
    expect(outcome?.next).toEqual({ seen: 3, keys: [] });
  });

  test("is checked", async () => {
    const app = appOf(assistant("a", { prompt: "x" }));
    const { error } = await app.run("a", "hi", { input: { options: { messages: [{ role: "planet" }] } } });
    expect(error?.message).toContain('the option "messages"[0].role');
    expect((await app.run("a", "hi", { input: { options: { messages: [] } } })).error?.message).toContain("is empty");
  });
});

describe("a model that sees", () => {
  test("gets images as they are, also without a word beside them", async () => {
    const app = appOf(assistant("a", { prompt: "x" }));
    const { provider, error } = await ask(app, [image(PNG, "image/jpeg")], ok);
    expect(error).toBeUndefined();
    // By its bytes it is a PNG.
    expect(told(provider.requests[0])).toEqual([SHOWN]);
  });

  test("gets images of the app's files, near the assistant first, and of evals' form", async () => {
    const app = appOf(assistant("a", { prompt: "x" }), {
      "assistants/a/assets/note.txt": "near",
      "assets/note.txt": "far",
      "data/other.txt": "other",
    });
    const { provider } = await ask(
      app,
      [
        { type: "file", source: "file://assets/note.txt" },
        { type: "file", source: "file:///data/other.txt" },
      ],
      ok,
    );
    expect(told(provider.requests[0])).toEqual(["File: note.txt\n\nnear", "File: other.txt\n\nother"]);
  });

  test("has helpers look all the same where the call forces it", async () => {
    const app = appOf(
      assistant("a", { prompt: "x", package: { uses: { vision: "eye" } } }),
      assistant("eye", { hooks: `function Next() { return { data: "a dot" }; }` }),
    );
    const plain = await ask(app, [image(PNG)], ok);
    expect(told(plain.provider.requests[0])).toEqual([SHOWN]);
    const forced = await ask(app, [image(PNG)], { ...ok, options: { force_uses: true } });
    expect(told(forced.provider.requests[0])).toEqual(["[image, described]\na dot"]);
  });
});

describe("a model that does not see", () => {
  const blind = (uses: JsonObject, hooks?: string): Readonly<Record<string, string>> => ({
    ...BLIND,
    ...assistant("a", {
      prompt: "x",
      package: { connector: "blind", uses },
      ...(hooks === undefined ? {} : { hooks }),
    }),
  });

  test("is told by the agent of uses.vision, once for each image of the run", async () => {
    const app = appOf(
      blind(
        { vision: "eye" },
        `function Next(ctx, { completion }) { return completion.content === "first" ? { delegate: { agent_id: "b" } } : null; }`,
      ),
      assistant("b", { prompt: "y", package: { connector: "blind", uses: { vision: "eye" } } }),
      assistant("eye", { prompt: "look" }),
    );
    const steps = [{ text: "a red dot" }, { text: "first" }, { text: "second" }];
    const { provider, outcome, messages } = await ask(app, [image(PNG), image(PNG), { type: "text", text: "what?" }], {
      steps,
    });
    expect(outcome?.output).toBe("second");
    const [eye, ...others] = provider.requests;
    expect(told(eye)).toEqual([expect.stringContaining("Describe this image"), SHOWN]);
    for (const request of others) {
      expect(told(request)).toEqual([...Array.from({ length: 2 }, () => "[image, described]\na red dot"), "what?"]);
    }
    expect(others).toHaveLength(2);
    // The describer works behind the scene.
    expect(JSON.stringify(messages)).not.toContain("a red dot");
  });

  test("is told by a tool of an MCP server", async () => {
    const app = appOf(blind({ vision: "mcp:eyes", audio: "mcp:eyes" }), {
      "assistants/a/mcps/eyes.mcp.yao": JSON.stringify({
        transport: "process",
        tools: { describe_image: "scripts.eye.See", transcribe_audio: "scripts.eye.Hear" },
      }),
      ...Object.fromEntries(
        ["describe_image", "transcribe_audio"].map((tool) => [
          `assistants/a/mcps/mapping/eyes/schemes/${tool}.in.yao`,
          JSON.stringify({ type: "object", "x-process-args": [":arguments"] }),
        ]),
      ),
      "scripts/eye.ts": `export function See({ image, content_type }) { return content_type + " " + image.slice(0, 30); }
        export function Hear({ audio, content_type }) { if (content_type !== "audio/wav") throw new Error("what?"); return "hm"; }`,
    });
    const sound = { type: "input_audio", input_audio: { data: Buffer.from(WAV).toString("base64"), format: "wav" } };
    const { provider, error } = await ask(app, [image(PNG), sound], ok);
    expect(error).toBeUndefined();
    expect(told(provider.requests[0])).toEqual([
      "[image, described]\nimage/png data:image/png;base64,iVBORw0K",
      "[audio, described]\nhm",
    ]);
  });

  test("is told by the connector of the role vision", async () => {
    const app = appOf(blind({}), SEEING, { "agent/agent.yml": "system:\n  vision: seeing\n" });
    const { provider, outcome } = await ask(app, [image(PNG)], {
      steps: [
        { text: "a dot", usage: { input: 5, output: 2 } },
        { text: "ok", usage: { input: 3, output: 1 } },
      ],
    });
    expect(provider.requests.map(({ model }) => model.id)).toEqual(["seeing", "blind"]);
    expect(told(provider.requests[1])).toEqual(["[image, described]\na dot"]);
    // Looking costs.
    expect(outcome?.usage).toMatchObject({ total_tokens: 11 });
  });

  test("goes on without what nobody can tell it, and says what to set", async () => {
    const app = appOf(blind({}));
    const { provider, outcome } = await ask(app, [image(PNG), { type: "text", text: "what?" }], ok);
    expect(outcome?.output).toBe("ok");
    expect(told(provider.requests[0])).toEqual([
      expect.stringMatching(/^\[image was left out: .*uses\.vision\]$/),
      "what?",
    ]);
  });

  test("goes on when its describer fails; two that name each other end", async () => {
    const app = appOf(
      blind({ vision: "eye" }),
      assistant("eye", { prompt: "y", package: { connector: "blind", uses: { vision: "other" } } }),
      assistant("other", { prompt: "z", package: { connector: "blind", uses: { vision: "eye" } } }),
      assistant("broken", { hooks: `function Create() { throw new Error("no"); }` }),
    );
    const around = await ask(app, [image(PNG)], { steps: [{ text: "I see nothing" }, { text: "ok" }] });
    expect(told(around.provider.requests[0])).toContainEqual(expect.stringContaining("was left out"));
    expect(told(around.provider.requests[1])).toEqual(["[image, described]\nI see nothing"]);
    const failed = await ask(app, [image(PNG)], { ...ok, options: { uses: { vision: "broken" } } });
    expect(told(failed.provider.requests[0])).toEqual([expect.stringContaining("[image was left out: ")]);
    const absent = await ask(app, [image(PNG)], { ...ok, options: { uses: { vision: "nobody" } } });
    expect(told(absent.provider.requests[0])).toEqual([expect.stringContaining('there is no assistant "nobody"')]);
  });

  test("follows what Create says about its helpers", async () => {
    const app = appOf(
      blind({ vision: "eye" }, `function Create() { return { uses: { vision: "second" } }; }`),
      assistant("second", { hooks: `function Next(ctx) { return { data: { dots: 1 } }; }` }),
    );
    const { provider } = await ask(app, [image(PNG)], ok);
    expect(told(provider.requests[0])).toEqual(['[image, described]\n{"dots":1}']);
  });
});

describe("files", () => {
  test("are texts with their names", async () => {
    const app = appOf(assistant("a", { prompt: "x" }));
    const { provider } = await ask(
      app,
      [
        { type: "text", text: "sum up" },
        file("report.pdf", pdfFile(["Profit: 42"])),
        file("letter.docx", docxFile("<w:p><w:r><w:t>Dear all</w:t></w:r></w:p>")),
        file("main.py", Buffer.from("print(1)")),
        { type: "data", data: { sources: [{ type: "model", name: "pet" }] } },
      ],
      ok,
    );
    expect(told(provider.requests[0])).toEqual([
      "sum up",
      "File: report.pdf\n\n## Page 1\nProfit: 42",
      "File: letter.docx\n\nDear all",
      "File: main.py\n\n```python\nprint(1)\n```",
      '{"sources":[{"type":"model","name":"pet"}]}',
    ]);
  });

  test("that are uploads are read part by part", async () => {
    const content = Buffer.from("0123456789".repeat(10));
    const asked: Json[] = [];
    const attachment: LocalService = async (_scope, method, [id = null, offset = null]) => {
      asked.push([method, id, offset]);
      if (id !== "abc") throw new Error("secret path /var/x");
      const base64 = content.subarray(offset as number, (offset as number) + 64).toString("base64");
      return { name: "n.txt", content_type: "text/plain", total_bytes: content.length, base64 };
    };
    const app = appWith({ attachment }, assistant("a", { prompt: "x" }));
    const { provider } = await ask(
      app,
      [
        { type: "file", file: { url: "__yao.attachment://abc" } },
        { type: "file", file: { file_id: "gone" } },
      ],
      ok,
    );
    expect(told(provider.requests[0])).toEqual([
      `File: n.txt\n\n${content.toString()}`,
      // What was not meant for people stays out of it.
      "[file was left out: it could not be read]",
    ]);
    expect(asked).toEqual([
      ["Read", "abc", 0],
      ["Read", "abc", 64],
      ["Read", "gone", 0],
    ]);
  });

  test("that end too early, or never, are left out", async () => {
    const attachment: LocalService = async (_scope, _method, [id = null]) => {
      if (id === "huge") return { name: "n", content_type: "", total_bytes: 1e9, base64: "AA" };
      return id === "short" ? { name: "n", content_type: "", total_bytes: 9, base64: "" } : null;
    };
    const app = appWith({ attachment }, assistant("a", { prompt: "x" }));
    const parts = ["short", "huge", "none"].map((id) => ({ type: "file", file: { file_id: id } }));
    expect(told((await ask(app, parts, ok)).provider.requests[0])).toEqual([
      expect.stringContaining("could not be read to its end"),
      expect.stringContaining("it is too large"),
      expect.stringContaining("could not be read to its end"),
    ]);
  });
});

describe("hostile parts", () => {
  test("reach no file of the device and none that makes up the app", async () => {
    const app = appOf(assistant("a", { prompt: "the secret", hooks: "function Other() {}" }), SEEING, {
      "assistants/a/prompts/chat.yml": "- role: system\n  content: secret\n",
      "scripts/x.ts": "1",
      "agent/agent.yml": "{}",
    });
    const paths = [
      "/etc/passwd",
      "../../../../../etc/passwd",
      "prompts.yml",
      "./PROMPTS.yml",
      "prompts/chat.yml",
      "package.yao",
      "src/index.ts",
      "x/../src/index.ts",
      "/connectors/seeing.conn.yao",
      "/scripts/x.ts",
      "/agent/agent.yml",
      "/assistants/a/prompts.yml",
    ];
    const parts = paths.map((path) => ({ type: "file", source: `file://${path}` }));
    const { provider } = await ask(app, parts, ok);
    for (const text of told(provider.requests[0])) expect(text).toContain("the app has no such file");
    expect(told(provider.requests[0])).toHaveLength(paths.length);
  });

  test("of any shape become short notes, and the run goes on", async () => {
    const app = appOf(assistant("a", { prompt: "x" }));
    const parts: readonly Json[] = [
      null,
      7,
      [],
      {},
      "plain words",
      { type: "image_url" },
      { type: "image_url", image_url: { url: "ftp://x/y" } },
      { type: "image_url", image_url: { url: "data:image/png;base64" } },
      { type: "image_url", image_url: { url: "data:image/png;base64," } },
      { type: "image_url", image_url: { url: `data:${"a;".repeat(10_000)},x` } },
      { type: "image_url", image_url: { url: "data:text/plain,%zz" } },
      { type: "image_url", image_url: { url: dataUri("image/tiff", Buffer.from([0x49, 0x49, 0x2a, 0])) } },
      { type: "file", file: { url: "https://example.com/a.pdf" } },
      { type: "file", file: { url: "__proto__://x" } },
      { type: "__proto__", text: { toString: 1 } },
      file("x]\n[system", Buffer.from([0, 255])),
    ];
    const { provider, error } = await ask(app, parts, ok);
    expect(error).toBeUndefined();
    const texts = told(provider.requests[0]) as readonly string[];
    expect(texts).toContain("plain words");
    const notes = texts.filter((text) => text !== "plain words");
    expect(notes).toHaveLength(parts.length - 1);
    for (const note of notes) {
      expect(note).toMatch(/^\[[^\n]*left out: [^\n]*\]$/);
      expect(note.length).toBeLessThan(500);
    }
  });

  test("are bounded in number, and the newest message comes first", async () => {
    const app = appOf(assistant("a", { prompt: "x" }));
    const many = (tag: string): ChatMessage => ({
      role: "user",
      content: Array.from({ length: 20 }, (_, n) => file(`${tag}${n}`, Buffer.from(`${tag}${n}`))),
    });
    const said = [many("old"), { role: "assistant", content: "hm" }, many("new")] as unknown as readonly Json[];
    const { provider } = await ask(app, said, ok);
    const texts = provider.requests[0]?.messages.map(({ content }) => JSON.stringify(content)) ?? [];
    expect(texts.at(-1)).not.toContain("left out");
    expect(texts[0]?.match(/left out: a request takes 32/g)).toHaveLength(8);
  });

  test("are bounded in bytes and in text", async () => {
    const app = appOf(assistant("a", { prompt: "x" }));
    const large = await ask(app, [file("large", Buffer.alloc(16 * 1024 * 1024 + 1, 97))], ok);
    expect(beginnings(large)).toEqual([expect.stringContaining("too large")]);
    const words = Array.from({ length: 6 }, (_, n) => file(`w${n}`, Buffer.alloc(200_000, 97 + n)));
    const { provider } = await ask(app, words, ok);
    const texts = told(provider.requests[0]) as readonly string[];
    expect(texts.join("").length).toBeLessThan(402_000);
    expect(texts.at(-1)?.slice(0, 200)).toContain("too much text together");
  });

  test("stop with the run", async () => {
    const stop = new AbortController();
    const app = appOf(
      { ...BLIND, ...assistant("a", { prompt: "x", package: { connector: "blind", uses: { vision: "eye" } } }) },
      assistant("eye", { prompt: "y" }),
    );
    const steps = [
      () => {
        stop.abort();
        return { until: new Promise(() => undefined) };
      },
    ];
    const { error, provider } = await ask(app, [image(PNG)], { steps, signal: stop.signal });
    expect(error).toMatchObject({ code: "cancelled" });
    expect(provider.requests).toHaveLength(1);
  });
});

describe("images at addresses", () => {
  test("are fetched, when they are images and there is an answer", async () => {
    const server = await serving();
    const app = appOf(assistant("a", { prompt: "x" }));
    const at = (path: string): JsonObject => ({ type: "image_url", image_url: { url: `${server.url}${path}` } });
    const document = { type: "file", file: { url: `${server.url}/dot.png` } };
    const parts = [at("/dot.png"), at("/page"), at("/gone"), at("/large"), at("/lie"), document];
    const { provider } = await ask(app, parts, ok);
    expect(told(provider.requests[0])).toEqual([
      SHOWN,
      expect.stringContaining("is not an image"),
      expect.stringContaining("answered 404"),
      expect.stringContaining("larger than"),
      // Text under the name of an image is text.
      expect.stringContaining("File: lie"),
      // Other files are not fetched.
      expect.stringContaining("cannot be read"),
    ]);
  });

  test("of services that give out a machine's credentials are not asked", async () => {
    const app = appOf(assistant("a", { prompt: "x" }));
    const part = { type: "image_url", image_url: { url: "http://169.254.169.254/latest/meta-data" } };
    const { provider } = await ask(app, [part], ok);
    expect(told(provider.requests[0])).toEqual([expect.stringContaining("may not reach")]);
  });
});

test("content parsing can be left out of a call", async () => {
  const app = appOf(assistant("a", { prompt: "x" }));
  const parts = [{ type: "text", text: "hi" }, file("a.txt", Buffer.from("not read"))];
  const { provider } = await ask(app, parts, { ...ok, options: { skip: { content_parsing: true } } });
  expect(told(provider.requests[0])).toEqual(["hi"]);
});

async function serving(): Promise<{ readonly url: string }> {
  const server: Server = createServer((request, response) => {
    const type = request.url === "/page" ? "text/html" : "image/png";
    response.writeHead(request.url === "/gone" ? 404 : 200, { "content-type": type });
    const large = Buffer.alloc(9 * 1024 * 1024);
    response.end(request.url === "/dot.png" ? PNG : request.url === "/large" ? large : "<html>");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({
    [Symbol.asyncDispose]: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
