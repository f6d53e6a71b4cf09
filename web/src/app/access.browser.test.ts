/** axe on every route, in each theme, size and language, in a real browser under the policy that the page is served with. */

import type { EvalSettings } from "@mesh/proto";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { axe, DIST, launch, type Look, open, SKIP_REASON } from "../testing/browser.ts";
import { fakeEvalNode, type FakeEvals } from "../testing/fake-evals.ts";
import { FakeMesh } from "../testing/fake-mesh.ts";

if (SKIP_REASON !== "") process.stderr.write(`skipped: ${SKIP_REASON}\n`);

const LOOKS = (["desktop", "phone"] as const).flatMap((size) =>
  (["en", "zh-CN", "en-XA"] as const).map((locale) => ({ size, locale })),
);
/** What a theme can break; everything else is the same in both. */
const COLOR_RULES = ["color-contrast", "link-in-text-block"];

/** Route, and what shows that it is there. */
type Route = readonly [path: string, sign: string];

const ROUTES = [
  ["/board", "[data-card]"],
  ["/task/T-2", "[role=log] pre"],
  ["/task/T-2?tab=runs", "[role=tabpanel] li"],
  ["/task/T-2?tab=trace", "[data-seq]"],
  ["/task/T-2?tab=outputs", "[role=tabpanel] a"],
  ["/task/T-2?tab=activity", "[role=tabpanel] time"],
  ["/task/T-2?tab=details", "[role=tabpanel] fieldset, [role=tabpanel] textarea"],
  ["/task/T-999", "h1"],
  ["/inbox", "main li time"],
  ["/devices", "li meter"],
  ["/devices/node_1", "dl code"],
  ["/runs", "main li"],
  ["/runs/run_1", "[data-seq]"],
  ["/documents", "li time"],
  ["/documents?q=fox", "mark"],
  ["/documents/doc_1?lines=3-4", "[data-line]"],
  ["/files", "li button"],
  ["/assistants", "main li"],
  ["/assistants/reporter", "details"],
  ["/settings", "main li"],
  ["/settings/notifications", "h2"],
  ["/settings/workspace", "main code"],
  ["/settings/members", "main li"],
  ["/settings/connectors", "main li"],
  ["/settings/tokens", "h2"],
  ["/settings/webhooks", "main li"],
  ["/settings/audit", "td time"],
  ["/evals", "main li"],
  ["/evals/eval_1", "[role=gridcell][data-status=failed]"],
  ["/evals/eval_1?case=2&result=2", "dialog details summary code"],
  ["/evals/eval_2?vs=eval_1", "main li button"],
  ["/nowhere", "h1"],
  ["/s/abc", "ol li"],
  ["/s/gone", "h1"],
  ["/join/code", "button"],
] as const;

/** Waits for colours that fade over. */
function settled(page: Page): Promise<unknown> {
  return page.evaluate(async () => {
    await new Promise((drawn) => {
      requestAnimationFrame(() => requestAnimationFrame(drawn));
    });
    const finite = document.getAnimations().filter((each) => each.effect?.getComputedTiming().iterations === 1);
    await Promise.allSettled(finite.map(({ finished }) => finished));
  });
}

/** What is wrong on each of the routes. */
async function visit(
  browser: Browser,
  url: string,
  look: Omit<Look, "theme">,
  routes: readonly Route[],
): Promise<string[]> {
  const found: string[] = [];
  const { page, errors } = await open(browser, `${url}/join`, look);
  for (const [path, sign] of routes) {
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(url + path);
    await page.locator(sign).first().waitFor();
    const heading = await page.locator("h1:visible").count();
    if (heading !== 1) found.push(`${path}: ${heading} headings of level 1`);
    const sideways = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    if (sideways) found.push(`${path}: scrolls sideways`);
    found.push(...(await axe(page)).map((line) => `${path}: ${line}`));
    await page.emulateMedia({ colorScheme: "dark" });
    await settled(page);
    found.push(...(await axe(page, COLOR_RULES)).map((line) => `${path}: dark: ${line}`));
    found.push(...errors.splice(0).map((line) => `${path}: ${line}`));
  }
  await page.context().close();
  return found;
}

/** One that runs, with every status, and one that has ended, with the same cases. */
function seedEvals(evals: FakeEvals): void {
  evals.nodes = [
    fakeEvalNode({ running: 1 }),
    fakeEvalNode({ node_id: "node_2", name: "desk", state: "quarantined", reason: "5 failures in a row" }),
    fakeEvalNode({ node_id: "node_3", name: "phone", state: "unfit", reason: "it has no slot" }),
  ];
  for (const id of ["eval_1", "eval_2"]) {
    evals.add({ id, cases: 8, warnings: ["after_all said no"], settings: { runs: 2 } as EvalSettings });
    for (const [ordinal, status] of ["passed", "failed", "error", "timeout", "skipped", "passed"].entries()) {
      const isTurned = id === "eval_2" && ordinal < 2;
      const details = {
        assertions: [{ type: "contains", status: "failed", message: "it is not there", expected: "Hi", actual: "Bye" }],
        trace: { tool_calls: [{ id: "1", server: "files", tool: "read", arguments: { path: "a" } }] },
      };
      evals.result(id, { ordinal, run: 1, status: isTurned ? (ordinal === 0 ? "failed" : "passed") : status }, details);
    }
    evals.result(id, { ordinal: 0, run: 2, status: "failed" });
    evals.result(id, { ordinal: 1, run: 1, status: "passed", observation: true });
  }
  evals.end("eval_2");
}

describe.skipIf(SKIP_REASON !== "")("accessibility", () => {
  const mesh = new FakeMesh(DIST);
  let browser: Browser;
  let url: string;

  beforeAll(async () => {
    browser = await launch();
    url = await mesh.listen();
    const { state } = mesh;
    state.seed(40);
    const task = state.change("T-2", {
      priority: "urgent",
      labels: ["docs"],
      summary: "It goes on.",
      outputs: [{ kind: "file", title: "notes.md", target: "docs/notes.md", node: "laptop" }],
      blocked_by: [{ id: "task_1", key: "T-1", title: "First", category: "todo" }],
    });
    state.activity.set(task.id, [{ id: "a1", at: task.created_at, actor: "ada", action: "created", detail: {} }]);
    state.addMessage("T-2", "user", { type: "text", props: { content: "Write the **notes**" } });
    const run = state.startRun("T-2");
    const text = state.say(run.id, "M1");
    text.add(
      "# Notes\n\n> quoted\n\n- [ ] one\n- [x] two\n\n```js\nconst a = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
    );
    text.end();
    state.emit(run.id, "message", {
      type: "execute",
      message_id: "M2",
      props: { tool: "read", status: "error", output: "x" },
    });
    state.ask("T-2", {
      id: "c1",
      kind: "approval",
      tool: "run",
      arguments: { a: 1 },
      text: "May I?",
      choices: [],
      arguments_cut: false,
    });
    seedEvals(state.evals);
    state.inbox = [
      {
        id: "i1",
        kind: "needs_input",
        task_id: task.id,
        task_key: "T-2",
        title: "Notes",
        workspace_id: "ws_1",
        text: "May I?",
        at: task.created_at,
        read: false,
        archived: false,
      },
    ];
  });

  afterAll(async () => {
    await browser.close();
    await mesh.close();
  });

  test.concurrent.each(LOOKS)("no violation on any route in light and dark: $size, $locale", async (look) => {
    expect(await visit(browser, url, look, ROUTES)).toEqual([]);
  });

  test.each(["light", "dark"] as const)("no violation in dialogs and menus: %s", async (theme) => {
    const found: string[] = [];
    const { page, errors } = await open(browser, `${url}/task/T-2`, { theme });
    const look = async (what: string): Promise<void> => {
      found.push(...(await axe(page)).map((line) => `${what}: ${line}`));
    };
    await page.getByRole("button", { name: "Approve" }).first().waitFor();
    for (const item of ["Make it a task agent…", "Share…"]) {
      await page.getByRole("button", { name: "More for T-2" }).click();
      await page.getByRole("menu").waitFor();
      await look(`menu before ${item}`);
      await page.getByRole("menuitem", { name: item }).click();
      await page.getByRole("dialog").getByRole("button").nth(1).waitFor();
      await look(item);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
    await page.goto(`${url}/board`);
    await page.locator("[data-card]").first().waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await look("shortcuts");
    await page.keyboard.press("Escape");
    await page.keyboard.press("c");
    await page.getByRole("dialog").waitFor();
    await look("composer");
    expect([...found, ...errors]).toEqual([]);
    await page.context().close();
  });

  test.each(["light", "dark"] as const)("no violation in dialogs of the other pages: %s", async (theme) => {
    const found: string[] = [];
    for (const [path, button] of [
      ["/devices", "Add a device"],
      ["/devices/node_1", "Edit"],
      ["/devices/node_1", "Drain"],
      ["/devices/node_1", "Remove"],
      ["/files", "notes.md"],
      ["/evals", "New eval"],
      ["/settings/connectors", "Add a connector"],
      ["/settings/tokens", "Make a token"],
      ["/settings/webhooks", "Add a webhook"],
      ["/settings/webhooks", "Deliveries"],
    ] as const) {
      const { page, errors } = await open(browser, url + path, { theme, size: "phone" });
      await page.getByRole("main").getByRole("button", { name: button, exact: true }).first().click();
      await page.getByRole("dialog").getByRole("button").first().waitFor();
      if (button === "Add a device") {
        await page.getByRole("button", { name: "Make the command" }).click();
        await page.getByRole("img", { name: "The command as a QR code" }).waitFor();
      }
      found.push(
        ...(await axe(page)).map((line) => `${button}: ${line}`),
        ...errors.map((line) => `${button}: ${line}`),
      );
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.context().close();
    }
    expect(found).toEqual([]);
  });

  test.each(["light", "dark"] as const)("no violation on the log-in page: %s", async (theme) => {
    mesh.state.isLoggedIn = false;
    try {
      for (const size of ["desktop", "phone"] as const) {
        const { page, errors } = await open(browser, `${url}/login`, { theme, size });
        await page.getByRole("button").first().waitFor();
        expect([...(await axe(page)), ...errors]).toEqual([]);
        await page.context().close();
      }
    } finally {
      mesh.state.isLoggedIn = true;
    }
  });
});
