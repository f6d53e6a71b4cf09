/** Devices, documents, files and settings by keys alone, in a real browser. The board and tasks have tests beside them. */

import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { DIST, launch, open, SKIP_REASON } from "../testing/browser.ts";
import { FakeMesh } from "../testing/fake-mesh.ts";
import { type Keys, keysOf } from "../testing/keys.ts";

if (SKIP_REASON !== "") process.stderr.write(`skipped: ${SKIP_REASON}\n`);

describe.skipIf(SKIP_REASON !== "")("by keys alone", () => {
  let browser: Browser;
  let mesh: FakeMesh;
  let page: Page;
  let keys: Keys;

  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser.close());
  beforeEach(() => {
    mesh = new FakeMesh(DIST);
  });
  afterEach(async () => {
    await page.context().close();
    await mesh.close();
  });

  async function visit(path: string): Promise<void> {
    ({ page } = await open(browser, (await mesh.listen()) + path));
    keys = keysOf(page);
  }
  const button = (name: string | RegExp): Locator => page.getByRole("button", { name, exact: true });
  const inDialog = (name: string): Locator => page.getByRole("dialog").getByRole("button", { name, exact: true });
  const field = (name: string): Locator => page.getByLabel(name, { exact: true });
  const says = (text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor();
  const bodyOf = (method: string, path: string): unknown =>
    mesh.seen.findLast((one) => one.method === method && one.path === path)?.body;

  test("a device is added: the command made, copied and read, and the dialog gives the focus back", async () => {
    await visit("/devices");
    await keys.press(button("Add a device"));
    await keys.choose(field("The command works for"), "1 d");
    await keys.fill(field("For how many devices"), "3");
    await keys.fill(field("Labels"), "gpu=yes");
    await keys.press(button("Make the command"));
    await says("yao node join https://mesh.example --token jt_1");
    expect(bodyOf("POST", "/v1/node-tokens")).toMatchObject({ ttl_seconds: 86_400, uses: 3, labels: { gpu: "yes" } });
    await keys.reach(inDialog("Copy"));
    await keys.press(page.locator("summary"));
    await says("install the command line tool first");
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
    expect(await button("Add a device").evaluate((element) => element === document.activeElement)).toBe(true);
  });

  test("a device is opened, edited, drained, put back to work and removed", async () => {
    await visit("/devices");
    await keys.press(page.getByRole("link", { name: "laptop" }));
    await keys.press(button("Edit"));
    await keys.fill(field("Name"), "desk");
    await keys.fill(field("Labels"), "room=cellar");
    await keys.press(page.getByRole("checkbox", { name: "home" }), "Space");
    await keys.press(button("Save"));
    await page.getByRole("heading", { level: 1, name: "desk" }).waitFor();
    expect(mesh.state.things.nodes[0]).toMatchObject({ name: "desk", labels: { room: "cellar" } });
    await keys.press(button("Drain"));
    await keys.choose(field("Deadline"), "5");
    await keys.press(inDialog("Drain"));
    await keys.press(button("Take work again"));
    expect(mesh.seen.find(({ path }) => path.endsWith("/drain"))?.body).toMatchObject({ deadline_seconds: 300 });
    await keys.press(button("Remove"));
    await keys.press(inDialog("Remove"));
    await page.waitForURL("**/devices");
    expect(mesh.state.things.nodes.map(({ name }) => name)).toEqual(["server"]);
  });

  test("a document is uploaded, found, opened, read, read again and deleted", async () => {
    await visit("/documents");
    const chooser = page.waitForEvent("filechooser");
    await keys.press(button("Upload"));
    await (await chooser).setFiles({ name: "plan.md", mimeType: "text/markdown", buffer: Buffer.from("hello") });
    await page.getByRole("link", { name: "plan.md" }).waitFor();
    await keys.fill(page.getByRole("searchbox", { name: "Search in documents" }), "fox");
    await page.keyboard.press("Enter");
    await keys.press(page.getByRole("link", { name: /lines 3 to 3$/ }));
    // What scrolls can be reached, else its end cannot be read without a mouse.
    await keys.reach(page.getByRole("region", { name: "plan.md" }));
    await keys.press(button("Read again"));
    await keys.press(button("Delete"));
    await keys.press(inDialog("Delete"));
    await page.waitForURL("**/documents");
    expect(mesh.state.things.documents.map(({ title }) => title)).toEqual(["Notes", "Scan"]);
  });

  test("a file is found, looked at, uploaded, replaced, renamed, copied and deleted", async () => {
    mesh.state.things.nodes = mesh.state.things.nodes.map((node) => ({ ...node, status: "online" }));
    await visit("/files");
    await keys.press(page.getByRole("link", { name: "docs" }));
    await page.waitForURL("**/files?path=docs");
    await keys.press(page.getByRole("navigation", { name: "Place" }).getByRole("link").first());
    await keys.press(button("notes.md"));
    await page.getByRole("heading", { name: "Hello" }).waitFor();
    await keys.reach(page.getByRole("link", { name: "Download" }));
    await page.keyboard.press("Escape");
    await keys.choose(field("Device"), "laptop");
    const chooser = page.waitForEvent("filechooser");
    await keys.press(button("Upload"));
    await (await chooser).setFiles({ name: "notes.md", mimeType: "text/markdown", buffer: Buffer.from("new") });
    await keys.press(button("Replace"));
    const writes = (): (string | undefined)[] =>
      mesh.seen.filter(({ method }) => method === "PUT").map(({ path }) => /if_hash=(\w+)/.exec(path)?.[1]);
    await expect.poll(writes).toEqual(["none", undefined]);
    await keys.pick(button("More for notes.md, laptop"), "Rename…");
    await keys.fill(field("New path"), "kept.md");
    await keys.press(inDialog("Rename"));
    await keys.pick(button("More for kept.md, laptop"), "Copy");
    await keys.choose(field("To"), "server");
    await keys.press(inDialog("Copy"));
    await expect.poll(() => mesh.seen.some(({ path }) => path.endsWith("/files/copy"))).toBe(true);
    await keys.pick(button("More for kept.md, laptop"), "Delete…");
    await keys.press(inDialog("Delete"));
    await says("kept.md is deleted on laptop.");
    await keys.fill(page.getByRole("searchbox"), "page");
    await page.keyboard.press("Enter");
    await page.waitForURL("**/files?**q=page");
  });

  describe("the settings:", () => {
    test("name, looks and password of the person", async () => {
      await visit("/settings");
      await keys.fill(field("Display name"), "Ada L.");
      await page.keyboard.press("Enter");
      await says("Saved.");
      await keys.choose(page.getByRole("main").getByLabel("Theme"), "Dark");
      await expect.poll(() => mesh.state.account.theme).toBe("dark");
      await keys.press(page.getByRole("main").getByRole("checkbox", { name: /Single letters/ }), "Space");
      await expect.poll(() => mesh.state.account.preferences_json).toContain('"letters":false');
      await keys.fill(field("Current password"), "the old password");
      await keys.fill(field("New password"), "a better password");
      await keys.press(button("Set the password"));
      await says(/The password is set/);
    });

    test("the workspace: its limits and its variables", async () => {
      await visit("/settings/workspace");
      const variables = page.getByRole("region", { name: "Variables" });
      await keys.fill(variables.getByLabel("Name"), "DB_URL");
      await keys.fill(variables.getByLabel("Value"), "s3cret");
      await keys.press(variables.getByRole("button", { name: "Set" }));
      await variables.getByText("DB_URL").waitFor();
      await keys.press(variables.getByRole("button", { name: "Remove API_KEY" }));
      await page.getByRole("dialog").waitFor();
      await page.keyboard.press("Escape");
      await keys.fill(page.getByRole("region", { name: "Delete this workspace" }).getByLabel("Name"), "home");
      await keys.reach(page.getByRole("button", { name: "Delete this workspace" }));
    });

    test("people: a link is made and shown", async () => {
      await visit("/settings/members");
      await keys.choose(page.getByRole("region", { name: "Invitations" }).getByLabel("Role"), "Viewer");
      await keys.press(button("Make a link"));
      await expect.poll(() => page.locator('input[value="https://mesh.example/join/abc"]').count()).toBe(1);
      await keys.reach(field("Name of the person"));
    });

    test("connectors, tokens and webhooks", async () => {
      await visit("/settings/connectors");
      await keys.press(button("Test demo.echo"));
      await says("Works");
      await keys.press(button("Add a connector"));
      await keys.reach(page.getByRole("dialog").getByRole("textbox").first());
      await page.keyboard.press("Escape");
      await keys.press(page.getByRole("link", { name: "API tokens" }));
      await keys.press(button("Make a token"));
      await keys.fill(field("Name"), "ci");
      await keys.press(page.getByRole("checkbox", { name: "runs", exact: true }), "Space");
      await keys.press(button("Make it"));
      await says("yao_secret_1");
      await keys.press(button("Done"));
      await says("ci");
      await keys.press(page.getByRole("link", { name: "Webhooks" }));
      await keys.press(page.getByRole("main").getByRole("button", { name: "Test", exact: true }));
      await says("the receiver answered 500");
      await page.keyboard.press("Escape");
      await keys.press(page.getByRole("link", { name: "Audit" }));
      await says("node.drain");
    });
  });
});
