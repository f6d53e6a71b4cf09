/**
 * What blocks of the documents do beyond running without an error, by the name of the block.
 *
 * A block of the older API document that reads like one of the newer is expected to do the same.
 */

import { expect } from "vitest";

import type { AppRunOptions } from "../../services/runtime/src/testing/app-run.ts";
import type { Around } from "./script-block.ts";

type Steps = NonNullable<AppRunOptions["steps"]>;

/** One run of a block of hooks. */
export interface HookCase {
  /** Which of the block's programs; the first when absent. */
  readonly program?: number;
  readonly input?: string;
  readonly locale?: string;
  readonly steps?: Steps;
  /** What the run failed with; a run that succeeds when absent. */
  readonly error?: string;
  /** What Next returned as data. */
  readonly next?: unknown;
  /** The run's answer. */
  readonly says?: string;
  /** Whole messages that the user saw, in the end. */
  readonly shown?: readonly unknown[];
  /** What the model was asked at last. */
  readonly asked?: unknown;
}

/** See the file comment. */
export interface Expectation extends Around {
  /** Further programs of a block that shows alternatives in one function: what to put in the place of what. */
  readonly also?: readonly (readonly [from: string, to: string])[];
  readonly cases?: readonly HookCase[];
}

/** A model that calls a tool and answers when it is asked again. */
function calling(name: string, args: Record<string, unknown>): Steps {
  return [{ calls: [{ name, arguments: args }] }, { text: "After the tool" }, { text: "An answer" }];
}

function saying(text: string): Steps {
  return [() => ({ text })];
}

function text(content: string): unknown {
  return { type: "text", props: { content } };
}

/** A request whose system prompt has these words. */
function told(words: string, more: Record<string, unknown> = {}): unknown {
  return { systemPrompt: expect.stringContaining(words) as unknown, ...more };
}

const FAILURE = { error: { errorClass: "auth", message: "the key is wrong" } } as const;
const FAILING: Steps = [() => FAILURE];
const FOUND = { items: [{ title: "Found", url: "https://example.com", content: "tea", score: 1 }] };
const SEARCHING = calling("tools__search", { query: "tea" });
const duration_ms: unknown = expect.any(Number);
const ANSWER = text("An answer");

const HOOKS: Readonly<Record<string, Expectation>> = {
  "context-api:500": {
    cases: [{ next: { generated: ["report.txt"] } }, { steps: FAILING, error: "the key is wrong" }],
  },
  "hooks:16": {
    also: [["return null;", ""]],
    cases: [
      { asked: told("The assistant of the documents", { model: expect.objectContaining({ id: "gpt-4o" }) }) },
      {
        program: 1,
        asked: told("The preset task", {
          model: expect.objectContaining({ id: "gpt-4o-mini" }),
          temperature: 0.7,
          tools: [expect.objectContaining({ name: "tools__search" }), expect.anything()],
        }),
      },
    ],
  },
  "hooks:47": {
    cases: [{ input: "hand over", asked: told("You are specialist.agent.") }, { asked: told("documents") }],
  },
  "hooks:66": {
    cases: [
      { says: "An answer", next: undefined },
      { steps: FAILING, next: { status: "error", message: "the key is wrong" } },
      { steps: SEARCHING, next: { status: "success", results: [FOUND] } },
      { steps: [{ text: "Let me transfer you" }, { text: "I take over" }], says: "I take over" },
    ],
  },
  "hooks:138": { cases: [{ shown: [text("Processing..."), text("Starting... step 1... step 2..."), ANSWER] }] },
  "hooks:157": { cases: [{ next: { duration_ms } }] },
  "hooks:196": {
    cases: [{ next: undefined }, { steps: FAILING, next: { status: "error", message: "Something went wrong" } }],
  },
  "hooks:215": {
    cases: [
      { says: "An answer" },
      { steps: calling("tools__tool1", { intent: "translate" }), asked: told("You are translate.agent.") },
    ],
  },
  "hooks:243": {
    cases: [
      { input: "This is Urgent", asked: told("The preset task", { temperature: 0 }) },
      { steps: FAILING, next: { status: "error", error: "the key is wrong" } },
      {
        steps: SEARCHING,
        next: { status: "success", response: "", tools: [{ name: "search", result: FOUND }], duration_ms },
      },
    ],
  },
  "i18n:120": { cases: [{ locale: "zh-cn", asked: told("The preset chinese") }, { asked: told("documents") }] },
  "i18n:168": {
    cases: [
      { locale: "ja", asked: told("Greeting: こんにちは！何かお手伝いできますか？") },
      { locale: "fr", asked: told("Greeting: Hello! How can I help you?") },
    ],
  },
  "mcp:132": {
    cases: [
      {
        asked: {
          tools: expect.arrayContaining([
            expect.objectContaining({ name: "tools__search" }),
            expect.objectContaining({ name: "data__query" }),
          ]) as unknown,
        },
      },
    ],
  },
  "mcp:313": { cases: [{ steps: SEARCHING, next: undefined }, { steps: calling("tools__fail", {}) }] },
  "mcp:363": {
    cases: [
      { says: "An answer" },
      {
        input: "1 + 2",
        steps: calling("calculator__add", { a: 1, b: 2 }),
        next: { answer: 3, expression: { a: 1, b: 2 } },
      },
    ],
  },
  "jsapi:151": {
    cases: [
      { program: 0, shown: [ANSWER, ANSWER] },
      {
        program: 1,
        shown: [
          ...["# Analysis Results", ...[1, 2, 3].map((n) => `- Finding ${n}: ...`)].map(text),
          ANSWER,
          text("From outside"),
        ],
      },
      {
        program: 2,
        shown: [ANSWER, ANSWER, { type: "card", props: { title: "Related Actions", actions: ["action1", "action2"] } }],
      },
    ],
  },
  "jsapi:340": {
    cases: [
      {
        shown: [
          text(
            "# Analysis Report\n\n## Section 1\nProcessing data...\n\n## Section 2\nFound 3 items.\n\n## Conclusion\nAnalysis complete.",
          ),
          ANSWER,
        ],
      },
    ],
  },
  "jsapi:399": {
    cases: [
      { program: 0, shown: [ANSWER, text("Complete! ✓")] },
      { program: 1, shown: [ANSWER, text("Found 2 results")] },
    ],
  },
  "jsapi:485": {
    cases: [
      {
        shown: [
          text("The quick brown fox"),
          ANSWER,
          { type: "log", props: { content: "Starting process\nStep 1 complete\nStep 2 complete\nAll done!\n" } },
        ],
      },
    ],
  },
  "jsapi:572": {
    cases: [
      {
        shown: [
          { type: "data", props: { content: "Result data", metadata: { timestamp: expect.any(Number) as unknown } } },
          ANSWER,
          { type: "task", props: { name: "Data Processing", status: "completed", progress: 100 } },
        ],
      },
    ],
  },
  "jsapi:662": {
    cases: [
      {
        shown: [
          { type: "operation", props: { name: "Process Data", status: "success", data: { ok: true } } },
          ANSWER,
          {
            type: "search_result",
            props: {
              results: [{ title: "One" }, { title: "Two" }],
              count: 2,
              timestamp: expect.any(Number) as unknown,
              sort_by: "relevance",
            },
          },
        ],
      },
    ],
  },
  "jsapi:879": {
    cases: [
      {
        program: 0,
        shown: [
          ...["Step 1: Analyzing data...", "Step 2: Processing results...", "Step 3: Complete!"].map(text),
          ANSWER,
        ],
      },
      { program: 1, shown: [...["Thinking...", "A thought", "Fetching data...", "Found 3 results"].map(text), ANSWER] },
    ],
  },
  "jsapi:2150": {
    cases: [
      { program: 0, says: "An answer", asked: told("Relevant knowledge:\nAn answer\n\nAn answer\n\nAn answer") },
      {
        program: 0,
        steps: saying("This needs complex analysis"),
        next: { status: "delegated", specialist_response: "This needs complex analysis" },
      },
      { program: 1, says: "An answer" },
      {
        program: 1,
        steps: [FAILURE, { text: "The backup" }, { text: "The backup" }],
        next: { recovered: true, content: "The backup" },
      },
    ],
  },
  "jsapi:2386": {
    cases: [
      { program: 0, next: { primary: "An answer", comparisons: { gpt4o: "An answer", claude: "An answer" } } },
      {
        program: 1,
        says: "An answer",
        asked: told("Multiple model opinions:\nModel 1: An answer\nModel 2: An answer\nModel 3: An answer"),
      },
    ],
  },
  "jsapi:2604": { cases: [{ asked: { temperature: 0.7, maxTokens: 2000 } }] },
  "jsapi:2715": {
    cases: [
      { next: { status: "success", response: "An answer", processed: true } },
      { steps: FAILING, next: { status: "error", message: "the key is wrong", recovery: "Please try again" } },
      {
        steps: SEARCHING,
        next: { status: "tools_processed", total: 1, successful: 1, failed: 0, results: [FOUND] },
      },
    ],
  },
  "jsapi:2789": {
    cases: [
      { says: "An answer", next: undefined },
      { input: "please search", asked: told("The preset search.assistant") },
      {
        steps: FAILING,
        next: {
          status: "error",
          message: "An error occurred while processing your request",
          error: "the key is wrong",
        },
      },
      {
        steps: SEARCHING,
        next: { status: "success", tool_results: [{ tool: "search", server: "tools", result: FOUND }], duration_ms },
      },
      { steps: [{ text: "I delegate to specialist now" }, { text: "As a specialist" }], says: "As a specialist" },
    ],
  },
};

const STATEMENTS: Readonly<Record<string, Around>> = {
  "context-api:105": {
    before: 'ctx.memory.chat.Set("topic", "tea"); ctx.memory.context.Set("one_time_token", "t");',
    after: 'stated([theme, token, keys, count, ctx.memory.context.Len()], ["dark", "t", ["theme"], 0, 0]);',
  },
  "context-api:129": { after: "stated([views, credits], [1, -5]);" },
  "context-api:136": {
    before: 'ctx.memory.chat.Push("queue", [1, 2, 3, 4]);',
    after: 'stated([last, items, all, ctx.memory.chat.ArrayLen("history")], [4, [1, 2, 3], [], 2]);',
  },
  "context-api:145": { after: 'stated(ctx.memory.user.ArrayAll("visited"), ["/home", "/about"]);' },
  "context-api:151": {
    before: 'ctx.memory.chat.Push("messages", [1, 2, 3]);',
    after: "stated([len, first, slice.at(-1), page, all.length], [3, 1, 3, [newMsg, 2, 3], 3]);",
  },
  "context-api:273": { after: 'stated(data.contents[0].uri, "resource://uri");' },
  "context-api:280": { after: 'stated(prompt.messages[0].content.text, "Be , prompt-name.");' },
  "context-api:289": {
    after:
      "stated([webResult, kbResult, dbResult].map((r) => [r.type, r.error ?? null]), [['web', null], ['kb', null], ['db', null]]);",
  },
  "context-api:314": { after: "stated(results[0].error ?? null, null);" },
  "context-api:358": { after: 'stated([result.agent_id, result.content], ["assistant-id", "An answer"]);' },
  "context-api:396": { after: 'stated(results.map((r) => r.content), ["An answer", "An answer"]);' },
  "context-api:462": { after: 'stated(ctx.sandbox.ReadFile("output.txt"), "Hello World");' },
  "context-api:476": { after: 'stated(output.includes("tested"), true);' },
  "context-api:525": { after: 'stated([result.connector, result.content], ["gpt-4o", "An answer"]);' },
  "context-api:544": { after: 'stated(results.map((r) => r.connector), ["gpt-4o", "claude-3"]);' },
  "mcp:148": { after: 'stated([tools.tools[0].name, tools.tools[0].inputSchema.type], ["search", "object"]);' },
  "mcp:155": { after: "stated(result.items.length, 1);" },
  "mcp:166": { after: "stated(results.length, 2);" },
  "mcp:184": { after: 'stated(data.contents[0].uri, "data://users/123");' },
  "mcp:191": { after: 'stated(prompt.messages[0].content.text, "Be helper, system.");' },
  "mcp:200": { after: "stated(results.length, 1);" },
  "jsapi:998": { after: "stated([typeof search_node.id, search_node.id !== ''], ['string', true]);" },
  "jsapi:1029": { after: "stated(new Set(parallel_nodes.map((n) => n.id)).size, 2);" },
  "jsapi:1204": { after: "stated(ctx.trace.IsComplete(), true);" },
  "jsapi:1351": {
    before: 'ctx.memory.chat.Set("cache:a", 1); ctx.memory.chat.Set("cache:b", 2); ctx.memory.chat.Set("cached", 3);',
    after: 'stated(ctx.memory.chat.Keys(), ["cached"]);',
  },
  "jsapi:1373": {
    before: 'ctx.memory.context.Set("one_time_token", "t");',
    after: 'stated([token, ctx.memory.context.Has("one_time_token")], ["t", false]);',
  },
  "jsapi:1404": {
    before: 'ctx.memory.context.Set("k", 1);',
    after: "stated(ctx.memory.context.Len(), 0);",
  },
  "jsapi:1415": { after: "stated([views, points], [1, 10]);" },
  "jsapi:1428": { before: 'ctx.memory.user.Set("credits", 3);', after: "stated(remaining, 2);" },
  "jsapi:1441": { after: "stated(len, 2);" },
  "jsapi:1452": { before: 'ctx.memory.chat.Push("pending_tasks", [1, 2]);', after: "stated(lastItem, 2);" },
  "jsapi:1460": {
    before: 'ctx.memory.chat.Push("notifications", [1, 2, 3, 4, 5, 6, 7]);',
    after: "stated(recentItems, [3, 4, 5, 6, 7]);",
  },
  "jsapi:1468": {
    before: 'ctx.memory.context.Push("batch_queue", [1, 2]);',
    after: 'stated([allTasks, ctx.memory.context.ArrayLen("batch_queue")], [[1, 2], 0]);',
  },
  "jsapi:1477": { after: 'stated(ctx.memory.user.ArrayAll("visited_pages"), ["/home", "/about", "/contact"]);' },
  "jsapi:1496": {
    before: 'ctx.memory.chat.Push("messages", [1, 2, 3]);',
    after: "stated([firstMessage, lastMessage], [1, 3]);",
  },
  "jsapi:1505": {
    before: 'ctx.memory.chat.Push("messages", [1, 2]);',
    after: 'stated(ctx.memory.chat.ArrayAll("messages"), [{ role: "system", content: "Updated" }, 2]);',
  },
  "jsapi:1513": {
    before: 'ctx.memory.chat.Push("messages", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);',
    after: "stated(recent, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);",
  },
  "jsapi:1521": {
    before: 'ctx.memory.chat.Push("messages", Array.from({ length: 45 }, (_, i) => i));',
    after: "stated([page1[0], page1.length, page2[0], page2.length], [0, 20, 20, 20]);",
  },
  "jsapi:1656": { after: 'stated(resources.resources[0].uri, "echo://info");' },
  "jsapi:1769": { after: 'stated(prompts.prompts[0].name, "test_connection");' },
  "jsapi:1803": { after: "stated(samples.samples.length, 1);" },
  "jsapi:1819": { after: 'stated([sample.name, sample.input], ["one", { count: 1 }]);' },
  "jsapi:1842": { after: "stated(results.map((r) => r.mcp), ['server1', 'server2', 'server3']);" },
  "jsapi:1933": { after: 'stated(results[0].result.echo, "hello");' },
  "jsapi-old:1202": { after: 'stated(ctx.space.Get("user_data"), { name: "John", id: 123 });' },
  "jsapi-old:1215": {
    before: 'ctx.space.Set("temp_data", 1);',
    after: 'stated(ctx.space.Get("temp_data"), null);',
  },
  "jsapi-old:1231": {
    after: 'stated([metadata, ctx.space.Get("file_metadata")], [{ name: "report.pdf", size: 1024 }, null]);',
  },
};

/** See the file comment. */
export const EXPECTED: Readonly<Record<string, Expectation>> = { ...HOOKS, ...STATEMENTS };
