import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { FakeMesh } from "../../testing/fake-mesh.ts";
import { renderPage } from "../../testing/render-page.tsx";
import { until } from "../../testing/until.ts";

let mesh: FakeMesh;
beforeEach(() => {
  mesh = new FakeMesh();
});
afterEach(async () => {
  await mesh.close();
  vi.unstubAllGlobals();
});

test("a document tells its state, where it came from, and since when its device is off", async () => {
  await renderPage(mesh, "/documents");
  const [notes, scan] = await screen.findAllByRole("listitem");
  expect(notes?.textContent).toMatch(/Notes.*Searchable.*written by helper.*T-1.*server is off since/);
  expect(scan?.textContent).toMatch(/Scan.*Not readable.*there is no text in it/);
});

test("what is found is marked, and leads to the lines in the text", async () => {
  await renderPage(mesh, "/documents");
  await userEvent.type(await screen.findByRole("searchbox", { name: "Search in documents" }), "fox{Enter}");
  expect((await screen.findByText("fox")).tagName).toBe("MARK");
  const link = screen.getByRole("link", { name: /^Notes.*lines 3 to 3$/ });
  expect(link.getAttribute("href")).toBe("/documents/doc_1?lines=3-3");
  await userEvent.click(link);
  const text = await screen.findByRole("region", { name: "Notes" });
  expect(text.querySelector('[data-line="3"]')?.className).toBe("found");
  expect(text.querySelector('[data-line="2"]')?.className).toBe("line");
  expect(screen.getByText(/this is the text as it was last read/)).toBeDefined();
});

test("words that nothing has are answered with what to do", async () => {
  await renderPage(mesh, "/documents?q=zebra");
  expect(await screen.findByText("Nothing was found")).toBeDefined();
});

test("a file is uploaded and listed; one that is too large is refused without being sent", async () => {
  mesh.state.things.documents = [];
  await renderPage(mesh, "/documents");
  expect(await screen.findByText("No document yet")).toBeDefined();
  const large = new File(["x"], "large.bin");
  Object.defineProperty(large, "size", { value: 40 * 1024 * 1024 });
  await userEvent.upload(screen.getByLabelText("Upload files"), [large, new File(["hello"], "plan.md")]);
  expect(await screen.findByRole("link", { name: "plan.md" })).toBeDefined();
  expect(screen.getByText(/large.bin is larger than 32 MB/)).toBeDefined();
  const sent = mesh.seen.filter(({ method }) => method === "POST");
  expect(sent.map(({ path, body }) => [path, body])).toEqual([["/v1/workspaces/ws_1/documents?name=plan.md", "hello"]]);
});

test("a document is deleted after the question", async () => {
  const { history } = await renderPage(mesh, "/documents/doc_2");
  await userEvent.click(await screen.findByRole("button", { name: "Delete" }));
  await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Delete" }));
  await until("the page went back to the list", () => history.at(-1) === "/documents");
  expect(mesh.state.things.documents.map(({ id }) => id)).toEqual(["doc_1"]);
});
