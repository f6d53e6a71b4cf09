/** The way of a person through the page, in a real browser on a real system: from the first link to a shared task agent. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { isObject, until } from "@mesh/kernel";
import type { Task, TaskMessage } from "@mesh/proto";
import OpenAI from "openai";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { ApiClient } from "../harness/api-client.ts";
import { findChromium, startChromium } from "../harness/chromium.ts";
import { artifactFolder, Person } from "./web-person.ts";
import { YaoHome } from "./yao-command.ts";

const CHROMIUM = findChromium();
const IS_CI = (process.env["CI"] ?? "") !== "";
const LIMIT_MS = 40_000;
if (CHROMIUM === undefined)
  console.warn("skipped: there is no chromium on the PATH; install it, or set YAO_TEST_CHROMIUM to its path");

test.runIf(IS_CI)("CI has the browser that these tests need", () => {
  expect(CHROMIUM, "install chromium: sh deploy/install-chromium.sh").toBeDefined();
});

/** Numbers as the demo model counts them. */
const counted = (to: number): string => Array.from({ length: to }, (_, at) => at + 1).join(" ");

describe.skipIf(CHROMIUM === undefined)("a person and the page", () => {
  const home = new YaoHome();
  const device = new YaoHome();
  const folder = artifactFolder();
  let browser: Browser;
  let url = "";
  let api: ApiClient;
  let desktop: Person;
  let page: Page;
  let asked: Task;

  beforeAll(async () => {
    const said = (await home.up()).stdout();
    url = /is up at (http:\S+)/.exec(said)?.[1] ?? "";
    api = new ApiClient(url, /^admin token: (yao_\S+)$/m.exec(said)?.[1] ?? "");
    const app = workApp(home.dir);
    expect(await home.run(["app", "push", app])).toMatchObject({ code: 0 });
    browser = await startChromium(CHROMIUM ?? "");
    desktop = await Person.open(browser, /^Open {2}(\S+)$/m.exec(said)?.[1] ?? "", "desktop", folder);
    page = desktop.page;
    console.info(`screenshots: ${folder}`);
  });

  afterAll(async () => {
    await browser?.close();
    await device[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });

  const log = (of: Page = page) => of.getByRole("log");
  const task = async (ref: string): Promise<Task> => (await api.call<{ task: Task }>("GET", `/v1/tasks/${ref}`)).task;

  async function untilState(ref: string, state: string): Promise<Task> {
    const look = async (): Promise<Task | undefined> => {
      const found = await task(ref);
      return found.run_state === state ? found : undefined;
    };
    return await until(look, { timeoutMs: LIMIT_MS, everyMs: 50, what: `${ref} to be ${state}` });
  }

  /** Talks in the board's composer; the key of the task that opens. */
  async function say(text: string, of: Page = page): Promise<string> {
    await of.goto(`${url}/board`);
    await of.getByRole("button", { name: "New task" }).first().click();
    const dialog = of.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Say what you need" }).fill(text);
    await dialog.getByRole("combobox", { name: "Assistant" }).selectOption({ label: "Worker" });
    await dialog.getByRole("button", { name: "Create task" }).click();
    await of.waitForURL(/\/task\/[^/]+$/);
    return new URL(of.url()).pathname.split("/").at(-1) ?? "";
  }

  /** What the assistant said last, as the server has it. */
  async function serverText(ref: string): Promise<string> {
    const { messages } = await api.call<{ messages: TaskMessage[] }>("GET", `/v1/tasks/${ref}/messages`);
    const texts = messages.filter(({ role, message }) => role === "assistant" && message?.["type"] === "text");
    const props: unknown = texts.at(-1)?.message?.["props"];
    const content = isObject(props) ? props["content"] : undefined;
    return typeof content === "string" ? content : "";
  }

  /** Waits until the conversation has it: what a run said is added to it in steps of its own, a moment after the run's state. */
  const stored = (ref: string, text: string): Promise<void> =>
    expect.poll(() => serverText(ref), { timeout: LIMIT_MS }).toBe(text);

  /** The last paragraph that is shown. */
  const shownText = async (of: Page = page): Promise<string> =>
    (await log(of).locator("p").last().textContent())?.trim() ?? "";

  const occurrences = async (text: string): Promise<number> =>
    ((await log().textContent()) ?? "").split(text).length - 1;

  /** Waits for a text of the conversation, which is in pieces while it grows. */
  const shows = (text: string): Promise<void> =>
    expect.poll(() => log().textContent(), { timeout: LIMIT_MS, interval: 20 }).toContain(text);

  /** Waits for the badge of a task that has ended well; filters have the word too, unseen. */
  const succeeded = (of: Page = page): Promise<void> =>
    of.getByText("Succeeded").filter({ visible: true }).first().waitFor();

  async function menu(name: string): Promise<void> {
    await page.getByRole("button", { name: /^More for / }).click();
    await page.getByRole("menuitem", { name }).click();
  }

  test("the link of the first start opens the board, logged in", async () => {
    await page.waitForURL("**/board");
    await page.getByRole("button", { name: "New task" }).first().waitFor();
    expect(page.url()).not.toContain("code=");
    await desktop.shoot("01-first-run");
  });

  test("the command that the devices page shows adds a second device, and the page sees it come", async () => {
    await page.goto(`${url}/devices`);
    await page.getByRole("button", { name: "Add a device" }).first().click();
    await page.getByRole("button", { name: "Make the command" }).click();
    const command = (await page.getByRole("region", { name: "Command" }).textContent()) ?? "";
    expect(command).toMatch(new RegExp(`^yao node join ${url} --token yj_\\S+$`));
    await desktop.shoot("02-add-device");
    device.shell(`${command} --name studio`);
    await page.getByRole("dialog").getByText("studio has joined.").waitFor();
    await desktop.shoot("03-device-joined");
    await page.getByRole("dialog").getByRole("button", { name: "Done" }).click();
  });

  test("a task made by talking streams to its end, and reloads in its middle show what the server has", async () => {
    const key = await say("/count 150 every 100ms");
    for (const mark of ["5 6", "35 36", "65 66"]) {
      await shows(mark);
      await page.reload();
      await shows(mark);
      expect((await task(key)).run_state).toBe("running");
    }
    await desktop.shoot("04-streaming");
    await untilState(key, "succeeded");
    await stored(key, counted(150));
    await expect.poll(() => shownText(), { timeout: LIMIT_MS }).toBe(counted(150));
    await succeeded();
    await desktop.shoot("05-streamed");
  });

  test("half a minute without a network ends at the server's state, without a duplicate", async () => {
    const key = await say("/count 150 every 200ms");
    await shows("3 4 5");
    await desktop.context.setOffline(true);
    await desktop.shoot("06-offline");
    // Its end is the fact that 30 s are over. Chromium refuses new connections meanwhile; it leaves open ones alone.
    await untilState(key, "succeeded");
    await desktop.context.setOffline(false);
    await stored(key, counted(150));
    await expect.poll(() => shownText(), { timeout: LIMIT_MS }).toBe(counted(150));
    expect(await occurrences(counted(150))).toBe(1);
    await succeeded();
  });

  test("a question is answered on a phone, and the desktop follows", async () => {
    const key = await say('/tool ask_user {"question": "Which hotel?", "choices": ["Ritz", "Savoy"]}');
    await page.getByText("Which hotel?").first().waitFor();
    asked = await untilState(key, "waiting");
    expect(asked.pending.map(({ text }) => text)).toEqual(["Which hotel?"]);
    await desktop.shoot("07-question");
    const { stdout } = await home.run(["web", "--no-open"]);
    const phone = await Person.open(browser, /^Open {2}(\S+)$/m.exec(stdout)?.[1] ?? "", "phone", folder);
    await phone.page.waitForURL("**/board");
    await phone.page.goto(`${url}/task/${key}`);
    await phone.page.getByRole("button", { name: "Savoy" }).waitFor();
    await phone.shoot("08-phone-question");
    await phone.page.getByRole("button", { name: "Savoy" }).tap();
    await untilState(key, "succeeded");
    await page.getByRole("button", { name: "Savoy" }).waitFor({ state: "detached" });
    await succeeded();
    await expect.poll(() => log().textContent()).toContain("Savoy");
    await succeeded(phone.page);
    await phone.shoot("09-phone-answered");
    expect(phone.errors).toEqual([]);
    await phone.context.close();
  });

  test("the task becomes a task agent, which the official OpenAI client calls", async () => {
    await menu("Make it a task agent…");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("Hotel clerk");
    await dialog.getByRole("textbox", { name: "Short name" }).fill("hotel-clerk");
    await desktop.shoot("10-promote");
    await dialog.getByRole("button", { name: "Make it" }).click();
    await page.getByText("The task agent Hotel clerk, version 1, is there.").waitFor();
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: api.token });
    const names: string[] = [];
    for await (const { id } of client.models.list()) names.push(id);
    const model = names.find((name) => name.includes("hotel-clerk")) ?? "";
    expect(names).toContain(model);
    const messages = [{ role: "user" as const, content: "/echo your room is ready" }];
    const answer = await client.chat.completions.create({ model, messages });
    expect(answer.choices[0]?.message.content).toBe("your room is ready");
    let streamed = "";
    for await (const chunk of await client.chat.completions.create({ model, messages, stream: true }))
      streamed += chunk.choices[0]?.delta.content ?? "";
    expect(streamed).toBe("your room is ready");
  });

  test("a shared link opens in a browser without cookies", async () => {
    await menu("Share…");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Make a link" }).click();
    const link = await dialog.getByRole("textbox", { name: "Copy it now" }).inputValue();
    expect(new URL(link).pathname).toMatch(/^\/s\/\S+$/);
    await desktop.shoot("11-share");
    const guest = await Person.open(browser, link, "desktop", folder);
    await guest.page.getByRole("heading", { name: asked.title }).waitFor();
    await guest.page.getByText("Savoy").first().waitFor();
    expect(await guest.context.cookies()).toEqual([]);
    await guest.shoot("12-shared");
    expect(guest.errors).toEqual([]);
    await guest.context.close();
    await page.keyboard.press("Escape");
  });

  test("two tabs have one event stream between them, and both follow", async () => {
    let feeds = 0;
    desktop.context.on("request", (request) => {
      if (request.url().includes("/feed")) feeds += 1;
    });
    const second = await desktop.tab(`${url}/board`);
    await second.locator("[data-card]").first().waitFor();
    await api.call("PATCH", `/v1/tasks/${asked.id}`, {
      title: "Seen in both tabs",
      revision: (await task(asked.id)).revision,
    });
    await second.getByRole("link", { name: "Seen in both tabs" }).waitFor();
    await page.getByRole("heading", { name: "Seen in both tabs" }).waitFor();
    expect(feeds).toBe(0);
    await second.close();
  });

  test("by keys alone a task is made, answered, opened and moved", async () => {
    await page.goto(`${url}/board`);
    await page.locator("[data-card]").first().waitFor();
    await page.keyboard.press("c");
    await page.getByRole("dialog").waitFor();
    await focusByTab(page, "Say what you need");
    await page.keyboard.type('/tool ask_user {"question": "Tea?"}');
    await focusByTab(page, "Assistant");
    await page.keyboard.type("Worker");
    await focusByTab(page, "Say what you need", "Shift+Tab");
    await page.keyboard.press("Control+Enter");
    await page.waitForURL(/\/task\/[^/]+$/);
    const key = new URL(page.url()).pathname.split("/").at(-1) ?? "";
    await untilState(key, "waiting");
    await page.getByRole("textbox", { name: "Your answer" }).waitFor();
    await focusByTab(page, "Your answer");
    await page.keyboard.type("Green");
    await page.keyboard.press("Enter");
    const { id } = await untilState(key, "succeeded");
    await page.goto(`${url}/board`);
    await page.locator(`#card-${id}`).waitFor();
    await cardByKeys(page, id);
    await focusByTab(page, `Move ${key}`);
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Move to Done" }).waitFor();
    const isOnDone = (): Promise<boolean> => page.evaluate(`document.activeElement?.textContent === "Move to Done"`);
    for (let n = 0; n < 12 && !(await isOnDone()); n += 1) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    const isDone = async (): Promise<boolean> => (await task(key)).category === "done";
    await until(isDone, { timeoutMs: LIMIT_MS, what: "the move" });
    await cardByKeys(page, id);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/task/${key}`);
    expect(desktop.errors).toEqual([]);
  });
});

/** Goes on by Tab until the control with this name has the focus. */
async function focusByTab(page: Page, name: string, key = "Tab"): Promise<void> {
  const focused = `(() => { const e = document.activeElement; return [e?.getAttribute("aria-label"), ...[...(e?.labels ?? [])].map((l) => l.textContent)].join(" "); })()`;
  for (let n = 0; n < 80; n += 1) {
    if ((await page.evaluate<string>(focused)).includes(name)) return;
    await page.keyboard.press(key);
  }
  throw new Error(`Tab does not reach ${name}`);
}

/** Goes from card to card by the board's own keys until the task's card has the focus. */
async function cardByKeys(page: Page, id: string): Promise<void> {
  for (let n = 0; n < 20; n += 1) {
    if ((await page.evaluate<string>("document.activeElement?.id ?? ''")) === `card-${id}`) return;
    await page.keyboard.press(n % 4 === 3 ? "l" : "j");
  }
  throw new Error(`the keys do not reach the card of ${id}`);
}

/** An app whose one assistant may ask. */
function workApp(root: string): string {
  const dir = join(root, "work");
  const assistant = join(dir, "assistants", "worker");
  mkdirSync(assistant, { recursive: true });
  const options = { tools: ["ask_user"] };
  writeFileSync(join(assistant, "package.yao"), JSON.stringify({ name: "Worker", connector: "demo", options }));
  writeFileSync(join(assistant, "prompts.yml"), '- role: system\n  content: "You work."\n');
  return dir;
}
