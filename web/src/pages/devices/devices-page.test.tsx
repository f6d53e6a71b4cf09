import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { FakeMesh } from "../../testing/fake-mesh.ts";
import { Refusal } from "../../testing/fake-state.ts";
import { fakeNode } from "../../testing/fake-things.ts";
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

test("each device shows its state, slots and why it takes no work", async () => {
  await renderPage(mesh, "/devices");
  const [laptop, server] = await screen.findAllByRole("listitem");
  expect(laptop?.textContent).toMatch(/laptop.*Online.*room=attic.*1 of 4 slots/);
  expect(server?.textContent).toMatch(/server.*Offline.*Takes no work: it is offline/);
});

test("a list that cannot be loaded tells the request, and is loaded again when asked", async () => {
  mesh.refuse.set("GET /v1/nodes", new Refusal(500, "internal", "it broke"));
  await renderPage(mesh, "/devices");
  const failure = await screen.findByRole("alert");
  expect(failure.textContent).toContain("Request req_fake");
  await userEvent.click(within(failure).getByRole("button", { name: "Try again" }));
  expect(await screen.findAllByRole("listitem")).toHaveLength(2);
});

test("without a device the page says what to do first", async () => {
  mesh.state.things.nodes = [];
  await renderPage(mesh, "/devices");
  expect(await screen.findByText("No device has joined yet")).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Add a device" }));
  expect(screen.getByRole("button", { name: "Make the command" })).toBeDefined();
});

test("the dialog shows the command, and says so once the device has joined", async () => {
  await renderPage(mesh, "/devices");
  await userEvent.click(await screen.findByRole("button", { name: "Add a device" }));
  await userEvent.type(screen.getByLabelText("Labels"), "gpu");
  expect(screen.getByText(/“gpu” is no label/)).toBeDefined();
  await userEvent.type(screen.getByLabelText("Labels"), "=yes");
  await userEvent.click(screen.getByRole("button", { name: "Make the command" }));
  expect(await screen.findByText("yao node join https://mesh.example --token jt_1")).toBeDefined();
  expect(await screen.findByRole("img", { name: "The command as a QR code" })).toBeDefined();
  expect(mesh.seen.find(({ path }) => path === "/v1/node-tokens")?.body).toMatchObject({
    ttl_seconds: 900,
    uses: 1,
    labels: { gpu: "yes" },
  });
  await until("the feed is open", () => mesh.feeds === 1);
  const node = fakeNode({ id: "node_3", name: "attic" });
  mesh.state.things.nodes = [...mesh.state.things.nodes, node];
  mesh.state.tell("node.changed", node.id, { ...node });
  expect(await screen.findByText("attic has joined.", {}, { timeout: 5_000 })).toBeDefined();
  expect(screen.getByRole("link", { name: "Show attic" }).getAttribute("href")).toBe("/devices/node_3");
});

test("labels that were taken out are removed, and the name is changed", async () => {
  await renderPage(mesh, "/devices/node_1");
  await userEvent.click(await screen.findByRole("button", { name: "Edit" }));
  await userEvent.clear(screen.getByLabelText("Labels"));
  await userEvent.clear(screen.getByLabelText("Name"));
  await userEvent.type(screen.getByLabelText("Name"), "desk");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  expect(await screen.findByRole("heading", { level: 1, name: "desk" })).toBeDefined();
  expect(mesh.state.things.nodes[0]?.labels).toEqual({});
});

test("a device is drained with its deadline, takes work again, and is removed after the question", async () => {
  const { history } = await renderPage(mesh, "/devices/node_1");
  await userEvent.click(await screen.findByRole("button", { name: "Drain" }));
  await userEvent.selectOptions(screen.getByLabelText("Deadline"), "300");
  await userEvent.click(within(screen.getByRole("dialog")).getByRole("button", { name: "Drain" }));
  await userEvent.click(await screen.findByRole("button", { name: "Take work again" }));
  await screen.findByRole("button", { name: "Drain" });
  const drain = mesh.seen.find(({ path }) => path.endsWith("/drain"));
  expect(drain?.body).toMatchObject({ deadline_seconds: 300 });
  await userEvent.click(screen.getByRole("button", { name: "Remove" }));
  const dialog = screen.getByRole("dialog");
  expect(dialog.textContent).toMatch(/1 run that is active on it is stopped/);
  await userEvent.click(within(dialog).getByRole("button", { name: "Remove" }));
  await until("the page went back to the list", () => history.at(-1) === "/devices");
  expect(mesh.state.things.nodes.map(({ name }) => name)).toEqual(["server"]);
});
