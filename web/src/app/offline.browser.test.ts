/** The page without a network: the service worker serves the shell, and the last board is shown to read. */

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { DIST, launch, SKIP_REASON } from "../testing/browser.ts";
import { FakeMesh } from "../testing/fake-mesh.ts";
import { until } from "../testing/until.ts";

if (SKIP_REASON !== "") process.stderr.write(`skipped: ${SKIP_REASON}\n`);

describe.skipIf(SKIP_REASON !== "")("offline", () => {
  const mesh = new FakeMesh(DIST);
  let browser: Browser;

  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(async () => {
    await browser.close();
    await mesh.close();
  });

  test("after one visit the page opens without a server, tells so, shows the last board, and heals", async () => {
    const url = await mesh.listen();
    mesh.state.seed(10);
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${url}/board`);
    await page.locator("[data-card]").first().waitFor();
    await page.evaluate(async () => {
      await navigator.serviceWorker.ready;
    });
    const isKept = (): Promise<boolean> =>
      page.evaluate(async () => (await caches.match("/last-board.json")) !== undefined);
    await expect.poll(isKept, { timeout: 10_000 }).toBe(true);
    mesh.isDown = true;
    mesh.cut();
    await page.reload();
    await page.getByText("This is the board as it was last seen").waitFor();
    await page.getByText("Task number 7").waitFor();
    expect(await page.evaluate(async () => (await caches.keys()).length)).toBeGreaterThan(1);
    // The API is never answered from a cache.
    const status = await page.evaluate(() =>
      fetch("/v1/account").then(
        (answer) => answer.status,
        () => 0,
      ),
    );
    expect(status).toBe(0);
    mesh.isDown = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator("[data-card]").first().waitFor();
    await until("the feed is open", () => mesh.feeds === 1);
    await page.context().close();
  });
});
