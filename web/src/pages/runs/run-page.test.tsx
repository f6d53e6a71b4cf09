import type { RunEvent } from "@mesh/proto";
import { screen, within } from "@testing-library/react";
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

const eventPages = (): string[] =>
  mesh.seen.filter(({ path }) => path.includes("/events?")).map(({ path }) => path.slice(path.indexOf("?")));

test("a run with 100,000 events opens at the newest page; older ones come when asked for", async () => {
  const run = mesh.state.startRun("task_1");
  const events = Array.from({ length: 100_000 }, (_, index): RunEvent => ({
    run_id: run.id,
    seq: index + 1,
    epoch: 1,
    at: "",
    kind: "log",
    data: { message: `line ${index + 1}` },
  }));
  mesh.state.events.set(run.id, events);
  mesh.state.runs.set(run.id, { ...run, state: "succeeded", last_seq: 100_000 });
  await renderPage(mesh, `/runs/${run.id}`);
  expect(await screen.findByText("from 99,501 to 100,000")).toBeDefined();
  expect(eventPages()).toEqual(["?after_seq=99500&limit=500"]);
  await userEvent.click(screen.getByRole("button", { name: "Load older events" }));
  expect(await screen.findByText("from 99,001 to 100,000")).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "To the start" }));
  expect(await screen.findByText("from 1 to 100,000")).toBeDefined();
  expect(eventPages()).toHaveLength(3);
});

test("a run tells where it ran, why there, and why not elsewhere; it can be run again", async () => {
  const run = mesh.state.startRun("task_1");
  const error = { code: "runner_crashed", message: "the runner crashed" };
  mesh.state.runs.set(run.id, { ...run, state: "failed", error, input: "Count" });
  await renderPage(mesh, `/runs/${run.id}`);
  expect(await screen.findByText("laptop has the most free slots")).toBeDefined();
  expect(screen.getByText("offline since yesterday")).toBeDefined();
  expect(screen.getByText("runner_crashed")).toBeDefined();
  expect(screen.getByRole("button", { name: "Run again" })).toBeDefined();
});

test("the list is narrowed by state, and the empty list leads back to all", async () => {
  const run = mesh.state.startRun("task_1");
  mesh.state.runs.set(run.id, { ...run, state: "failed", input: "Count to three" });
  await renderPage(mesh, "/runs");
  const row = (await screen.findAllByRole("listitem"))[0];
  expect(row?.textContent).toMatch(/Failed.*Count to three.*laptop/);
  await userEvent.selectOptions(screen.getByLabelText("State"), "succeeded");
  expect(await screen.findByText("No run fits")).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Show all" }));
  const list = await screen.findByRole("list", { name: "Runs" });
  expect(within(list).getAllByRole("listitem")).toHaveLength(1);
});

test("what a waiting run asks is answered on its page", async () => {
  const run = mesh.state.startRun("task_1");
  const asked = { id: "c1", kind: "question", tool: "ask", text: "Which one?", choices: ["red", "blue"] };
  const pending = [{ ...asked, arguments: {}, arguments_cut: false }];
  mesh.state.runs.set(run.id, { ...run, state: "waiting", pending });
  await renderPage(mesh, `/runs/${run.id}`);
  await userEvent.click(await screen.findByRole("button", { name: "blue" }));
  await screen.findByText("Answered.");
  const sent = mesh.seen.find(({ path }) => path.endsWith("/answer"));
  expect(sent?.body).toEqual({ call_id: "c1", decision: "answer", text: "blue" });
  await vi.waitFor(() => expect(screen.queryByText("Which one?")).toBeNull());
});
