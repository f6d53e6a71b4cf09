/** Notifications in a real browser: switching them on, showing what comes, and where a tap leads. */

import type { Browser, CDPSession, Page, Worker } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { DIST, launch, SKIP_REASON } from "../testing/browser.ts";
import { FakeMesh } from "../testing/fake-mesh.ts";
import { keysOf } from "../testing/keys.ts";

if (SKIP_REASON !== "") process.stderr.write(`skipped: ${SKIP_REASON}\n`);

const news = {
  kind: "needs_input",
  key: "T-7",
  title: "Book a room",
  url: "/task/task_7",
  tag: "task_7",
  locale: "",
};

/** What a browser does at its push service, of which a headless one has none. */
function fakePushService(): void {
  let present: PushSubscription | null = null;
  const made = (key: BufferSource): unknown => ({
    endpoint: "https://push.example/send/1",
    options: { applicationServerKey: (key as Uint8Array).buffer },
    unsubscribe: () => {
      present = null;
      return Promise.resolve(true);
    },
    toJSON: () => ({ endpoint: "https://push.example/send/1", keys: { p256dh: "P", auth: "A" } }),
  });
  PushManager.prototype.getSubscription = () => Promise.resolve(present);
  PushManager.prototype.subscribe = (options) => {
    present = made(options?.applicationServerKey as BufferSource) as PushSubscription;
    return Promise.resolve(present);
  };
}

describe.skipIf(SKIP_REASON !== "")("notifications", () => {
  const mesh = new FakeMesh(DIST);
  let browser: Browser;
  let url: string;

  beforeAll(async () => {
    browser = await launch();
    url = await mesh.listen();
    mesh.state.seed(10);
  });
  afterAll(async () => {
    await browser.close();
    await mesh.close();
  });
  beforeEach(() => {
    mesh.state.things.pushes = [];
    mesh.seen.length = 0;
  });

  async function visit(path: string, locale = "en"): Promise<Page> {
    const context = await browser.newContext({ locale, permissions: ["notifications"] });
    context.setDefaultTimeout(8000);
    const page = await context.newPage();
    await page.addInitScript(fakePushService);
    await page.goto(url + path);
    return page;
  }

  /** The service worker of the page, and a wire to give it messages as a push service would. */
  async function workerOf(page: Page): Promise<{ worker: Worker; push: (data: string) => Promise<void> }> {
    const cdp: CDPSession = await page.context().newCDPSession(page);
    const registered = new Promise<string>((resolve) => {
      cdp.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
        const [first] = registrations;
        if (first !== undefined) resolve(first.registrationId);
      });
    });
    await cdp.send("ServiceWorker.enable");
    await page.evaluate(async () => {
      await navigator.serviceWorker.ready;
    });
    const registrationId = await registered;
    const [worker] = page.context().serviceWorkers();
    if (worker === undefined) throw new Error("no service worker");
    const push = async (data: string): Promise<void> => {
      await cdp.send("ServiceWorker.deliverPushMessage", { origin: url, registrationId, data });
    };
    return { worker, push };
  }

  interface Shown {
    readonly title: string;
    readonly body: string;
    readonly tag: string;
  }
  const shown = (worker: Worker): Promise<Shown[]> =>
    worker.evaluate(async () => {
      const { registration } = globalThis as unknown as { registration: ServiceWorkerRegistration };
      return (await registration.getNotifications()).map(({ title, body, tag }) => ({ title, body, tag }));
    });
  const tap = (worker: Worker): Promise<string> =>
    worker.evaluate(async () => {
      const self = globalThis as unknown as {
        registration: ServiceWorkerRegistration;
        clients: { openWindow: (path: string) => Promise<null> };
        NotificationEvent: new (type: string, init: { notification: Notification | undefined }) => Event;
      };
      let opened = "";
      // A browser opens windows for real taps only.
      self.clients.openWindow = (path) => {
        opened = path;
        return Promise.resolve(null);
      };
      const [notification] = await self.registration.getNotifications();
      const event = new self.NotificationEvent("notificationclick", { notification });
      const done = new Promise<void>((resolve) => {
        Object.defineProperty(event, "waitUntil", {
          value: (work: Promise<void>) => void work.then(resolve),
        });
      });
      globalThis.dispatchEvent(event);
      await done;
      return opened;
    });

  test("are switched on by keys alone, for chosen kinds, tried, and switched off", async () => {
    const page = await visit("/settings/notifications");
    await workerOf(page);
    const keys = keysOf(page);
    const press = (role: "checkbox" | "button", name: string, key: string): Promise<void> =>
      keys.press(page.getByRole(role, { name, exact: true }), key);
    await press("checkbox", "is done", "Space");
    await press("button", "Turn on here", "Enter");
    await page.getByText("Notifications are on here.").waitFor();
    expect(mesh.seen.find(({ method, path }) => method === "PUT" && path === "/v1/account/push")?.body).toEqual({
      endpoint: "https://push.example/send/1",
      p256dh: "P",
      auth: "A",
      kinds: ["needs_input", "failed"],
    });
    await press("button", "Send a test to Firefox", "Enter");
    await page.getByText("The test did not go through: answered with 503").waitFor();
    await press("button", "Turn off here", "Enter");
    await page.getByText("Notifications are off here.").waitFor();
    expect(mesh.state.things.pushes).toEqual([]);
    await page.context().close();
  });

  test("come back after a new log-in, and stay away when they were removed elsewhere", async () => {
    const page = await visit("/settings/notifications");
    await workerOf(page);
    await page.getByRole("button", { name: "Turn on here" }).click();
    await page.getByText("Notifications are on here.").waitFor();
    const puts = (): number =>
      mesh.seen.filter(({ method, path }) => `${method} ${path}` === "PUT /v1/account/push").length;
    // The address of this fake browser is new at each load, as after a new log-in.
    await page.reload();
    await expect.poll(puts).toBe(2);
    const kept = (): Promise<string | null> => page.evaluate(() => localStorage.getItem("yao.push"));
    expect(await kept()).toContain("https://push.example/send/1");
    await page.addInitScript(() => {
      // The same address as before.
      const same = { endpoint: "https://push.example/send/1" } as PushSubscription;
      PushManager.prototype.getSubscription = () => Promise.resolve(same);
    });
    mesh.state.things.pushes = [];
    await page.reload();
    await expect.poll(kept).toBe(null);
    expect(puts()).toBe(2);
    await page.context().close();
  });

  test("are shown in the person's language while the page is away, the newest of a task alone", async () => {
    const page = await visit("/board");
    const { worker, push } = await workerOf(page);
    await page.goto("about:blank");
    await push(JSON.stringify(news));
    await expect
      .poll(() => shown(worker))
      .toEqual([{ title: "T-7 needs your answer", body: "Book a room", tag: "task_7" }]);
    await push(JSON.stringify({ ...news, kind: "done", locale: "zh-cn" }));
    await expect.poll(() => shown(worker)).toEqual([{ title: "T-7 已完成", body: "Book a room", tag: "task_7" }]);
    await page.context().close();
  });

  test("are not shown to who looks at the page, but for a test; and what is no message shows nothing", async () => {
    const page = await visit("/board");
    const { worker, push } = await workerOf(page);
    await push(JSON.stringify(news));
    await push("no message");
    await push(JSON.stringify({ ...news, kind: "test", key: "", title: "", tag: "test" }));
    await expect.poll(() => shown(worker)).toEqual([{ title: "Notifications work here", body: "", tag: "test" }]);
    await page.context().close();
  });

  test("lead to the task: in the open window, else in a new one, and never to another host", async () => {
    const page = await visit("/board");
    await page.locator("[data-card]").first().waitFor();
    const { worker, push } = await workerOf(page);
    const test = { ...news, kind: "test" };
    await push(JSON.stringify(test));
    await expect.poll(async () => (await shown(worker)).length).toBe(1);
    expect(await tap(worker)).toBe("");
    await page.waitForURL(`${url}/task/task_7`);
    expect(await shown(worker)).toEqual([]);
    await page.goto("about:blank");
    await push(JSON.stringify(test));
    await expect.poll(async () => (await shown(worker)).length).toBe(1);
    expect(await tap(worker)).toBe("/task/task_7");
    await push(JSON.stringify({ ...test, url: "//evil.example/task" }));
    await expect.poll(async () => (await shown(worker)).length).toBe(1);
    expect(await tap(worker)).toBe("/inbox");
    await page.context().close();
  });
});
