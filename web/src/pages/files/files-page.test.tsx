import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { FakeMesh } from "../../testing/fake-mesh.ts";
import { renderPage } from "../../testing/render-page.tsx";

let mesh: FakeMesh;
beforeEach(() => {
  mesh = new FakeMesh();
});
afterEach(async () => {
  await mesh.close();
  vi.unstubAllGlobals();
});

test("files of all devices are listed with their device, and since when it is off", async () => {
  await renderPage(mesh, "/files");
  expect(await screen.findByRole("link", { name: "docs" })).toBeDefined();
  const rows = screen.getAllByRole("listitem").map(({ textContent }) => textContent);
  expect(rows.find((row) => row?.includes("notes.md"))).toMatch(/on laptop/);
  expect(rows.find((row) => row?.includes("far.txt"))).toMatch(/server is off since/);
});

test("Markdown is shown as text with headings, HTML as its source, and neither runs", async () => {
  await renderPage(mesh, "/files");
  await userEvent.click(await screen.findByRole("button", { name: "notes.md" }));
  expect(await screen.findByRole("heading", { name: "Hello" })).toBeDefined();
  expect(screen.getByRole("link", { name: "Download" }).getAttribute("href")).toBe(
    "/v1/workspaces/ws_1/files/content?path=notes.md&node=node_1",
  );
  await userEvent.click(screen.getByRole("button", { name: "Close" }));
  await userEvent.click(screen.getByRole("button", { name: "page.html" }));
  expect(await screen.findByText("<script>globalThis.ran = true</script>")).toBeDefined();
  expect("ran" in globalThis).toBe(false);
});

test("of a file on a device that is off there is no preview, and nothing can be done to it", async () => {
  await renderPage(mesh, "/files");
  await userEvent.click(await screen.findByRole("button", { name: "far.txt" }));
  expect(screen.getByText(/the file can be read when it is back/)).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Close" }));
  await userEvent.click(screen.getByRole("button", { name: "More for far.txt, server" }));
  for (const item of screen.getAllByRole("menuitem")) expect(item).toHaveProperty("disabled", true);
});

test("a file that is there already is replaced only when that is said", async () => {
  await renderPage(mesh, "/files");
  await userEvent.upload(await screen.findByLabelText("Upload files"), new File(["new"], "notes.md"));
  await screen.findByText("notes.md is there already.");
  const writes = (): (string | undefined)[] =>
    mesh.seen.filter(({ method }) => method === "PUT").map(({ path }) => /if_hash=(\w+)/.exec(path)?.[1]);
  expect(writes()).toEqual(["none"]);
  await userEvent.click(screen.getByRole("button", { name: "Replace" }));
  await vi.waitFor(() => expect(writes()).toEqual(["none", undefined]));
});

test("a file is renamed and deleted", async () => {
  await renderPage(mesh, "/files");
  await userEvent.click(await screen.findByRole("button", { name: "More for notes.md, laptop" }));
  await userEvent.click(screen.getByRole("menuitem", { name: "Rename…" }));
  await userEvent.clear(screen.getByLabelText("New path"));
  await userEvent.type(screen.getByLabelText("New path"), "kept.md");
  await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Rename" }));
  await userEvent.click(await screen.findByRole("button", { name: "More for kept.md, laptop" }));
  await userEvent.click(screen.getByRole("menuitem", { name: "Delete…" }));
  await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Delete" }));
  await screen.findByText("kept.md is deleted on laptop.");
  expect(mesh.state.things.files.map(({ path }) => path)).not.toContain("kept.md");
});
