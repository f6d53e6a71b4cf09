/**
 * The pages of the web app on the real system, in a real browser: a second device joins by the command that the page shows,
 * a document is uploaded and found, a connector is tested, a token is made and works, an eval runs on the devices.
 */

import { demoAppDirectory } from "@mesh/assistants";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { findChromium, startChromium } from "../harness/chromium.ts";
import { TestMesh } from "../harness/test-mesh.ts";
import { YaoHome } from "./yao-command.ts";

const CHROMIUM = findChromium();
const REASON = CHROMIUM === undefined ? "no chromium here: apt-get install chromium, or set YAO_TEST_CHROMIUM" : "";
if (REASON !== "") process.stderr.write(`skipped: ${REASON}\n`);

const LIMIT_MS = 60_000;

describe.skipIf(REASON !== "")("the pages on the real system", () => {
  let mesh: TestMesh;
  let home: YaoHome;
  let browser: Browser;
  let page: Page;
  const errors: string[] = [];

  beforeAll(async () => {
    home = new YaoHome();
    mesh = await TestMesh.start({ nodes: [{ name: "first" }] });
    await mesh.untilNode("first", "online");
    browser = await startChromium(CHROMIUM ?? "");
    page = await browser.newPage({ locale: "en", viewport: { width: 1280, height: 900 } });
    page.setDefaultTimeout(LIMIT_MS);
    page.on("pageerror", (error) => errors.push(error.message));
    const { url } = await mesh.api.call<{ url: string }>("POST", "/v1/login-codes", {});
    await page.goto(url);
    await page.getByRole("link", { name: "Devices" }).waitFor();
  });

  afterAll(async () => {
    await browser?.close();
    await home?.[Symbol.asyncDispose]();
    await mesh?.stop();
  });

  const see = (path: string): Promise<unknown> => page.goto(mesh.api.url + path);

  test("a second device joins by the command that is shown, and the page says so without being loaded again", async () => {
    await see("/devices");
    await page.getByRole("link", { name: "first" }).waitFor();
    await page.getByRole("button", { name: "Add a device" }).click();
    await page.getByLabel("Labels").fill("room=attic");
    await page.getByRole("button", { name: "Make the command" }).click();
    const command = await page.getByRole("region", { name: "Command" }).innerText();
    expect(command).toMatch(/^yao node join http:\S+ --token \S+$/);
    await page.getByText("Waiting for the device…").waitFor();
    const device = home.shell(command);
    try {
      await page.getByText(/ has joined\.$/).waitFor();
    } catch (error) {
      throw new Error(`the device said: ${device.stdout()}${device.stderr()}`, { cause: error });
    }
    await page.getByRole("link", { name: /^Show / }).click();
    await page.getByText("room=attic").waitFor();
    const { nodes } = await mesh.api.call<{ nodes: { name: string; labels: object }[] }>("GET", "/v1/nodes");
    expect(nodes).toHaveLength(2);
    expect(nodes.find(({ name }) => name !== "first")?.labels).toMatchObject({ room: "attic" });
  });

  test("an uploaded document is read, found by its words, and shown at its line", async () => {
    await see("/documents");
    const text = "# Plan\n\nWater the plants.\nThe zebra eats at noon.\n";
    const file = { name: "plan.md", mimeType: "text/markdown", buffer: Buffer.from(text) };
    await page.locator("input[type=file]").setInputFiles(file);
    await page.getByRole("listitem").filter({ hasText: "Searchable" }).waitFor();
    await page.getByRole("searchbox").fill("zebra");
    await page.getByRole("searchbox").press("Enter");
    await page.locator("mark", { hasText: "zebra" }).waitFor();
    await page
      .getByRole("main")
      .getByRole("link", { name: /lines \d+ to \d+/ })
      .click();
    await page.locator('[data-line="4"]', { hasText: "The zebra eats at noon." }).waitFor();
  });

  test("the demo connector is tested with a result", async () => {
    await see("/settings/connectors");
    await page
      .getByRole("button", { name: /^Test demo/ })
      .first()
      .click();
    await page.getByText("Works", { exact: true }).waitFor();
  });

  test("a token is made, is shown once, and may do what was chosen and no more", async () => {
    await see("/settings/tokens");
    await page.getByRole("button", { name: "Make a token" }).click();
    await page.getByLabel("Name").fill("reader");
    await page.getByLabel("read", { exact: true }).check();
    await page.getByRole("button", { name: "Make it" }).click();
    const secret = await page.getByRole("region", { name: /shown only once/ }).innerText();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("button", { name: "Revoke reader" }).waitFor();
    expect(await page.content()).not.toContain(secret);
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    const me = await fetch(`${mesh.api.url}/v1/whoami`, { headers });
    expect(await me.json()).toMatchObject({ scopes: ["read"] });
    const refused = await fetch(`${mesh.api.url}/v1/node-tokens`, { method: "POST", headers, body: "{}" });
    expect(refused.status).toBe(403);
    await page.getByRole("button", { name: "Revoke reader" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("button", { name: "Revoke reader" }).waitFor({ state: "detached" });
    expect((await fetch(`${mesh.api.url}/v1/whoami`, { headers })).status).toBe(401);
  });

  test("an eval is started, followed to its end on the devices, and looked into", async () => {
    await mesh.pushApp("demo", demoAppDirectory);
    const cases = [
      { id: "good", input: "/echo badger", assert: { type: "contains", value: "badger" } },
      { id: "bad", input: "/echo badger", assert: { type: "contains", value: "zebra" } },
    ];
    await see("/evals");
    await page.getByRole("button", { name: "New eval" }).first().click();
    const dialog = page.getByRole("dialog", { name: "New eval" });
    await dialog.getByLabel("Assistant").selectOption("hello");
    await dialog.getByLabel("Cases", { exact: true }).fill(cases.map((each) => JSON.stringify(each)).join("\n"));
    await dialog.getByText("2 runs on 2 devices").waitFor();
    await dialog.getByRole("button", { name: "Start" }).click();
    await page.waitForURL(/\/evals\/eval_\w+/);
    await page.getByRole("gridcell", { name: /^good, .*: Passed/ }).waitFor();
    await page.getByRole("gridcell", { name: /^bad, .*: Failed/ }).click();
    await page.getByRole("dialog", { name: "bad" }).getByText("zebra").first().waitFor();
    const path = "/v1/evals?workspace=default";
    const list = async (): Promise<unknown> => (await mesh.api.call<{ evals: unknown }>("GET", path)).evals;
    await expect.poll(list).toMatchObject([{ state: "ended", counts: { passed: 1, failed: 1 } }]);
  });

  test("no page broke", () => {
    expect(errors).toEqual([]);
  });
});
