/** The task in a real browser: streaming, reload, approvals, conflicts, long runs, tabs and breaks. */

import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { DIST, launch, open, type SIZES, SKIP_REASON } from "../../testing/browser.ts";
import { FakeMesh } from "../../testing/fake-mesh.ts";
import { until } from "../../testing/until.ts";

if (SKIP_REASON !== "") process.stderr.write(`skipped: ${SKIP_REASON}\n`);

describe.skipIf(SKIP_REASON !== "")("task", () => {
  let browser: Browser;
  let mesh: FakeMesh;
  let url: string;

  beforeAll(async () => {
    browser = await launch();
  });
  beforeEach(async () => {
    mesh = new FakeMesh(DIST);
    url = await mesh.listen();
    mesh.state.seed(10);
  });
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
    await mesh.close();
  });
  afterAll(() => browser.close());

  async function running(path = "/task/T-2", size: keyof typeof SIZES = "desktop") {
    const run = mesh.state.startRun("T-2");
    const opened = await open(browser, url + path, { size });
    await opened.page.getByRole("log").waitFor();
    await until("the feed is open", () => mesh.feeds === 1);
    return { ...opened, run: run.id, log: opened.page.getByRole("log") };
  }

  test("a message streams, and a reload in its middle shows all of it and goes on", async () => {
    const { page, log, run, errors } = await running();
    const text = mesh.state.say(run, "M1");
    for (let n = 1; n <= 100; n += 1) text.add(`word${n} `);
    await log.getByText("word100").waitFor();
    await page.reload();
    await page.getByRole("log").getByText("word1 word2 word3").waitFor();
    for (let n = 101; n <= 150; n += 1) text.add(`word${n} `);
    text.end();
    const whole = Array.from({ length: 150 }, (_, index) => `word${index + 1}`).join(" ");
    await expect.poll(async () => (await page.getByRole("log").locator("p").last().textContent())?.trim()).toBe(whole);
    expect(errors).toEqual([]);
  });

  test("an approval is given on a phone, and the card is gone", async () => {
    const { page } = await running("/task/T-2", "phone");
    mesh.state.ask("T-2", {
      id: "c1",
      kind: "approval",
      tool: "shell",
      arguments: { command: "ls" },
      text: "May I?",
      choices: [],
      arguments_cut: false,
    });
    await page.getByRole("button", { name: "Change and approve" }).tap();
    await page.getByRole("textbox", { name: "Arguments" }).fill('{"command":"ls -l"}');
    await page.getByRole("button", { name: "Change and approve" }).tap();
    await until("the answer", () => mesh.seen.some(({ body }) => JSON.stringify(body).includes("ls -l")));
    await page.getByRole("button", { name: "Approve", exact: true }).waitFor({ state: "detached" });
    expect(mesh.state.task("T-2").run_state).toBe("running");
  });

  test("a question is answered by one of its choices", async () => {
    const { page } = await running();
    mesh.state.ask("T-2", {
      id: "q1",
      kind: "question",
      tool: "ask",
      arguments: undefined,
      text: "Which colour?",
      choices: ["red", "blue"],
      arguments_cut: false,
    });
    await page.getByRole("button", { name: "blue" }).click();
    await until("the answer", () => mesh.seen.some(({ body }) => JSON.stringify(body).includes('"text":"blue"')));
  });

  test("two people change the same field: both versions are shown, and nothing is written over", async () => {
    const { page } = await open(browser, `${url}/task/T-3?tab=details`);
    await page.getByRole("textbox", { name: "Title" }).fill("My title");
    await page.getByRole("textbox", { name: "Looked after by" }).fill("bob");
    mesh.state.change("T-3", { title: "Their title", description: "Their text" });
    await page.getByRole("button", { name: "Save changes" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    expect(await dialog.locator("pre").allTextContents()).toEqual(["Task number 3", "My title", "Their title"]);
    await dialog.getByRole("radio", { name: "Keep theirs" }).check();
    await dialog.getByRole("button", { name: "Save changes" }).click();
    await until("the merge", () => mesh.state.task("T-3").assignee === "bob");
    expect(mesh.state.task("T-3")).toMatchObject({ title: "Their title", description: "Their text" });
  });

  test("crossing the width at which the task opens beside the board loads nothing and keeps the draft", async () => {
    const { page } = await running();
    await page.getByRole("textbox", { name: "Message" }).fill("half a thought");
    await page.locator("[data-card]").first().waitFor();
    const before = mesh.seen.length;
    for (const width of [900, 1300, 500, 1100]) await page.setViewportSize({ width, height: 800 });
    expect(await page.getByRole("textbox", { name: "Message" }).inputValue()).toBe("half a thought");
    expect(mesh.seen.length).toBe(before);
  });

  test("a while without a network: the banner says so, and the state is the server's when it is back", async () => {
    const { page, log, run } = await running();
    const text = mesh.state.say(run, "M1");
    text.add("before ");
    await log.getByText("before").waitFor();
    mesh.isDown = true;
    mesh.cut();
    await page.getByText("No connection to the server").waitFor({ timeout: 15_000 });
    text.add("during ");
    mesh.state.change("T-1", { title: "Changed while away" });
    mesh.isDown = false;
    await page.evaluate(() => window.dispatchEvent(new Event("online")));
    await log.getByText("before during").waitFor();
    await page.getByRole("link", { name: "Changed while away" }).waitFor();
    await page.getByText("No connection to the server").waitFor({ state: "detached" });
  });

  test("two tabs share one feed, and both see a change", async () => {
    const { page } = await running("/board".replace("/board", "/task/T-2"));
    const second = await page.context().newPage();
    await second.goto(`${url}/board`);
    await second.locator("[data-card]").first().waitFor();
    expect(mesh.feeds).toBe(1);
    mesh.state.change("T-4", { title: "Seen in both" });
    await page.getByRole("link", { name: "Seen in both" }).waitFor();
    await second.getByRole("link", { name: "Seen in both" }).waitFor();
    await page.close();
    await until("the other tab has the feed", () => mesh.feeds === 1);
    mesh.state.change("T-4", { title: "Seen after" });
    await second.getByRole("link", { name: "Seen after" }).waitFor();
  });

  test("100,000 events: the trace opens at the newest with one page, and goes back when scrolled", async () => {
    const run = mesh.state.startRun("T-2").id;
    for (let n = 1; n <= 100_000; n += 1) mesh.state.emit(run, "log", { n });
    const { page } = await open(browser, `${url}/task/T-5`);
    await page.getByRole("tab", { name: "Trace" }).waitFor();
    const start = performance.now();
    await page.goto(`${url}/task/T-2?tab=trace`);
    await page.locator('[data-seq="100000"]').waitFor();
    process.stdout.write(
      `100,000 events: the newest is there ${Math.round(performance.now() - start)} ms after the address\n`,
    );
    expect(await page.locator("[data-seq]").count()).toBeLessThan(150);
    expect(mesh.seen.filter(({ path }) => path.includes("/events")).length).toBe(1);
    await page.getByRole("button", { name: "Load older events" }).click();
    await until("the page before", () => mesh.seen.some(({ path }) => path.includes("after_seq=99000")));
    await page.getByRole("button", { name: "To the start" }).click();
    await page.locator('[data-seq="1"]').waitFor();
  });

  test("a 100 kB message streams at a flat cost: the last tenth costs at most 1.5 times the first", async () => {
    const { page, log, run } = await running();
    await log.getByText("Nothing was said yet").waitFor();
    const ratio = async (id: string): Promise<number> => {
      const text = mesh.state.say(run, id);
      const paragraph =
        "Some **bold** words, a [link](https://a.example) and `code` in a line of text.\n\n- one\n- two\n\n```js\nconst a = 1;\n```\n\n";
      const total = Math.ceil(100_000 / paragraph.length);
      const ms: number[] = [];
      for (let n = 0; n < total; n += 1) {
        const before = await page.evaluate(() => performance.now());
        for (const half of [paragraph.slice(0, 60), paragraph.slice(60)]) text.add(half);
        text.add(`mark-${id}-${n}-end\n\n`);
        // Not waitForFunction, which polls with eval: the page's policy refuses that.
        await page.evaluate(
          (mark) =>
            new Promise<void>((seen) => {
              // Only the last element is looked at: reading all of the text would cost more than drawing it.
              const look = (): void => {
                let last: Element | null = document.querySelector("[role=log]");
                while (last?.lastElementChild != null) last = last.lastElementChild;
                if (last?.textContent.endsWith(mark) === true) seen();
                else requestAnimationFrame(look);
              };
              look();
            }),
          `mark-${id}-${n}-end`,
        );
        ms.push((await page.evaluate(() => performance.now())) - before);
      }
      text.end();
      const tenth = Math.floor(total / 10);
      const median = (list: readonly number[]): number =>
        [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? 0;
      const [first, last] = [median(ms.slice(0, tenth)), median(ms.slice(-tenth))];
      process.stdout.write(
        `100 kB message: first tenth ${first.toFixed(1)} ms, last tenth ${last.toFixed(1)} ms per step\n`,
      );
      return last / first;
    };
    // Other programs share the two cores: the better of two runs counts.
    const one = await ratio("M1");
    expect(one <= 1.5 ? one : await ratio("M2")).toBeLessThanOrEqual(1.5);
  });

  test("20 s of 200 events a second leave the tab as small as it was: heap and elements are bounded", async () => {
    const { page, run } = await running();
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("HeapProfiler.enable");
    const heapMb = async (): Promise<number> => {
      await cdp.send("HeapProfiler.collectGarbage");
      return (await cdp.send("Runtime.getHeapUsage")).usedSize / 1e6;
    };
    const elements = (): Promise<number> => page.evaluate(() => document.querySelectorAll("*").length);
    let said = 0;
    /** As many seconds of a talkative run: short messages of ten pieces each, and lines of its log. */
    const talk = async (seconds: number): Promise<void> => {
      for (let end = said + seconds * 20; said < end; said += 1) {
        const due = performance.now() + 50;
        const text = mesh.state.say(run, `M${said}`);
        for (let n = 0; n < 7; n += 1) text.add(`piece ${n} of ${said} `);
        text.end();
        mesh.state.emit(run, "log", { level: "info", message: `line ${said}`, data: "x".repeat(200) });
        await page.evaluate(
          (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
          Math.max(0, due - performance.now()),
        );
      }
      await page
        .getByText(`piece 6 of ${said - 1}`)
        .first()
        .waitFor();
    };
    // Until what the page keeps of a conversation is full; from then on something goes for all that comes.
    await talk(22);
    const [heapBefore, elementsBefore] = [await heapMb(), await elements()];
    await talk(20);
    const [heapAfter, elementsAfter] = [await heapMb(), await elements()];
    process.stdout.write(
      `20 s at 200 events/s: heap ${heapBefore.toFixed(1)} to ${heapAfter.toFixed(1)} MB, ${elementsBefore} to ${elementsAfter} elements\n`,
    );
    // The bar is less than 1 MB in a minute.
    expect(heapAfter - heapBefore).toBeLessThan(0.5);
    expect(elementsAfter).toBeLessThan(Math.max(elementsBefore * 1.1, 1500));
  });

  test("files that are dropped on the message go with it", async () => {
    const { page } = await running();
    await page
      .locator("input[type=file]")
      .setInputFiles({ name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("abc") });
    await page.getByRole("button", { name: "Remove a.txt" }).waitFor();
    await page.getByRole("textbox", { name: "Message" }).fill("see the file");
    await page.keyboard.press("Control+Enter");
    await until("the message", () =>
      mesh.seen.some(({ body }) => JSON.stringify(body).includes('"uploads":["upl_1"]')),
    );
    await expect.poll(() => page.getByRole("textbox", { name: "Message" }).inputValue()).toBe("");
  });

  test("a code in the address logs in, leaves no trace in it, and deep links survive the log-in", async () => {
    mesh.state.isLoggedIn = false;
    const { page } = await open(browser, `${url}/#/login?code=CODE-1`);
    await page.waitForURL("**/board");
    expect(page.url()).not.toContain("CODE-1");
    mesh.state.isLoggedIn = false;
    await page.goto(`${url}/task/T-2?tab=runs`);
    await page.getByRole("textbox", { name: "Name" }).fill("ada");
    await page.getByLabel("Password").fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "name or password is wrong" }).waitFor();
    await page.getByLabel("Password").fill("right password");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/task/T-2?tab=runs");
  });

  test("a shared link opens without a log-in, and asks for nothing that needs one", async () => {
    mesh.state.isLoggedIn = false;
    const { page, errors } = await open(browser, `${url}/s/abc`, { size: "phone" });
    await page.getByRole("heading", { level: 1, name: "A shared task" }).waitFor();
    await page.getByText("three", { exact: true }).waitFor();
    expect(mesh.seen.map(({ path }) => path)).toEqual(["/v1/shares/abc"]);
    expect(errors).toEqual([]);
  });
});
