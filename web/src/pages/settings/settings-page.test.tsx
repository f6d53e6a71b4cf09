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

test("the display name is changed, and the password set", async () => {
  await renderPage(mesh, "/settings");
  await userEvent.clear(await screen.findByLabelText("Display name"));
  await userEvent.type(screen.getByLabelText("Display name"), "Ada L.");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await screen.findByText("Saved.");
  expect(mesh.state.account.display_name).toBe("Ada L.");
  await userEvent.type(screen.getByLabelText("Current password"), "the old password");
  await userEvent.type(screen.getByLabelText("New password"), "a better password");
  await userEvent.click(screen.getByRole("button", { name: "Set the password" }));
  await screen.findByText(/The password is set/);
  expect(mesh.seen.find(({ path }) => path === "/v1/account/password")?.body).toEqual({
    current: "the old password",
    password: "a better password",
  });
});

test("the result of a connector's test stands beside it, with what to do when it fails", async () => {
  await renderPage(mesh, "/settings/connectors");
  await userEvent.click(await screen.findByRole("button", { name: "Test demo.echo" }));
  expect(await screen.findByText("Works")).toBeDefined();
  expect(screen.getByText("echo answers, in 3 ms")).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Test openai.gpt" }));
  expect(await screen.findByText("What to do: set another key")).toBeDefined();
});

test("a token is limited as chosen, shown once, and then only listed", async () => {
  await renderPage(mesh, "/settings/tokens");
  await userEvent.click(await screen.findByRole("button", { name: "Make a token" }));
  await userEvent.type(screen.getByLabelText("Name"), "ci");
  await userEvent.click(screen.getByLabelText("runs"));
  await userEvent.click(await screen.findByLabelText("home"));
  await userEvent.type(screen.getByLabelText("Only these assistants"), "helper, reporter");
  await userEvent.click(screen.getByRole("button", { name: "Make it" }));
  expect(await screen.findByText("yao_secret_1")).toBeDefined();
  expect(mesh.seen.find(({ method, path }) => method === "POST" && path === "/v1/tokens")?.body).toEqual({
    name: "ci",
    scopes: ["runs"],
    workspace_ids: ["ws_1"],
    assistants: ["helper", "reporter"],
    ttl_seconds: 7_776_000,
    rate_per_minute: 0,
  });
  await userEvent.click(screen.getByRole("button", { name: "Done" }));
  expect(screen.queryByText("yao_secret_1")).toBeNull();
  expect(await screen.findByText("ci")).toBeDefined();
});

test("a variable goes in and its value never comes out", async () => {
  await renderPage(mesh, "/settings/workspace");
  const variables = await screen.findByRole("region", { name: "Variables" });
  await userEvent.type(within(variables).getByLabelText("Name"), "DB_URL");
  await userEvent.type(within(variables).getByLabelText("Value"), "s3cret");
  await userEvent.click(within(variables).getByRole("button", { name: "Set" }));
  expect(await within(variables).findByText("DB_URL")).toBeDefined();
  expect(document.body.textContent).not.toContain("s3cret");
  expect(within(variables).getByLabelText("Value")).toHaveProperty("value", "");
});

test("the workspace is deleted only after its name was typed", async () => {
  await renderPage(mesh, "/settings/workspace");
  const part = await screen.findByRole("region", { name: "Delete this workspace" });
  const button = within(part).getByRole("button");
  await userEvent.type(within(part).getByLabelText("Name"), "hom");
  expect(button).toHaveProperty("disabled", true);
  await userEvent.type(within(part).getByLabelText("Name"), "e");
  expect(button).toHaveProperty("disabled", false);
});

test("a webhook is tested, and its deliveries tell what the receiver answered", async () => {
  await renderPage(mesh, "/settings/webhooks");
  await userEvent.click(await screen.findByRole("button", { name: "Test" }));
  const dialog = await screen.findByRole("dialog");
  expect(await within(dialog).findByText("the receiver answered 500")).toBeDefined();
  expect(dialog.textContent).toMatch(/webhook.test.*failed.*3 attempts.*answered 500/);
  expect(within(dialog).getByRole("button", { name: "Send again" })).toBeDefined();
});

test("an invitation's link is shown with a code for phones", async () => {
  await renderPage(mesh, "/settings/members");
  await userEvent.click(await screen.findByRole("button", { name: "Make a link" }));
  expect(await screen.findByDisplayValue("https://mesh.example/join/abc")).toBeDefined();
  expect(await screen.findByRole("img", { name: "The link as a QR code" })).toBeDefined();
});

test("the audit tells who did what", async () => {
  await renderPage(mesh, "/settings/audit");
  const row = (await screen.findByText("node.drain")).closest("tr");
  expect(row?.textContent).toMatch(/ada.*node.drain.*node_1.*deadline/);
});
