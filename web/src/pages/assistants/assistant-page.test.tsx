import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { FakeMesh } from "../../testing/fake-mesh.ts";
import { renderPage } from "../../testing/render-page.tsx";

let mesh: FakeMesh;
beforeEach(() => {
  mesh = new FakeMesh();
  mesh.state.seed(1);
});
afterEach(async () => {
  await mesh.close();
  vi.unstubAllGlobals();
});

test("an assistant is run on the chosen device, and its answer is shown", async () => {
  await renderPage(mesh, "/assistants/helper");
  await userEvent.type(await screen.findByLabelText("What should it do?"), "Count");
  await userEvent.selectOptions(screen.getByLabelText("Device"), "node_1");
  await userEvent.click(screen.getByRole("button", { name: "Run" }));
  expect((await screen.findByText("answer")).tagName).toBe("STRONG");
  const made = mesh.seen.find(({ method, path }) => method === "POST" && path.endsWith("/runs"));
  expect(made?.body).toMatchObject({ assistant: "helper", input: "Count", requirements: { node: "node_1" } });
  expect(made?.headers["idempotency-key"]).toMatch(/\S{16,}/);
});

test("an app is connected with a token that may run this assistant alone, and the snippet has it", async () => {
  await renderPage(mesh, "/assistants/helper");
  expect((await screen.findByRole("region", { name: "With curl" })).textContent).toContain("Bearer YOUR_TOKEN");
  await userEvent.click(screen.getByRole("button", { name: "Make a token for this assistant" }));
  await screen.findByText("yao_secret_1");
  expect(screen.getByRole("region", { name: "With curl" }).textContent).toContain("Bearer yao_secret_1");
  await userEvent.click(screen.getByRole("tab", { name: "With Python" }));
  expect(screen.getByRole("region", { name: "With Python" }).textContent).toContain(`base_url="${location.origin}/v1"`);
  expect(mesh.state.things.tokens[0]).toMatchObject({
    scopes: ["runs"],
    workspace_ids: ["ws_1"],
    assistants: ["helper"],
  });
});

test("a task agent shows its files, versions and links; an assistant of an app has none", async () => {
  await renderPage(mesh, "/assistants/reporter");
  expect(await screen.findByText("package.yao")).toBeDefined();
  expect(screen.getByRole("link", { name: "from T-1" }).getAttribute("href")).toBe("/task/task_1");
  await userEvent.click(screen.getByRole("button", { name: "Make a link" }));
  expect(await screen.findByDisplayValue("https://mesh.example/s/abc")).toBeDefined();
});
