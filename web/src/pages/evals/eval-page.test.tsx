import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { Eval } from "@mesh/proto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { FakeMesh } from "../../testing/fake-mesh.ts";
import { fakeEvalNode } from "../../testing/fake-evals.ts";
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

const twoRuns = { runs: 2 } as Eval["settings"] & object;
const cells = (): readonly string[] =>
  screen.getAllByRole("gridcell").flatMap((cell) => cell.getAttribute("aria-label") ?? []);
const sent = (method: string, ending: string) =>
  mesh.seen.find((one) => one.method === method && one.path.endsWith(ending));

test("results appear while the eval runs, and its end is told", async () => {
  const { evals } = mesh.state;
  evals.add({ cases: 2, settings: twoRuns });
  await renderPage(mesh, "/evals/eval_1");
  await screen.findByRole("grid", { name: "Results by case" });
  await waitFor(() => expect(mesh.evalFollowers).toBe(1));
  expect(cells()).toContain("case-1, run 2: No result yet");
  act(() => {
    evals.result("eval_1", { ordinal: 0, run: 1 });
    evals.result(
      "eval_1",
      { ordinal: 0, run: 2, status: "failed" },
      { assertions: [{ status: "failed", message: "no Hi" }] },
    );
    evals.result("eval_1", { ordinal: 1, run: 1, status: "timeout" });
  });
  await waitFor(() => expect(cells()).toContain("case-2, run 1: Timed out"));
  expect(cells()).toEqual([
    "case-1, run 1: Passed",
    "case-1, run 2: Failed",
    "case-2, run 1: Timed out",
    "case-2, run 2: No result yet",
  ]);
  expect(screen.getAllByRole("progressbar")[0]?.getAttribute("aria-valuetext")).toBe("3 of 4");
  expect(screen.getByText("flaky")).toBeDefined();
  act(() => evals.end("eval_1"));
  expect(await screen.findByText("Ended")).toBeDefined();
  expect(screen.getByTestId("spoken").textContent).toBe("The eval: Ended");
  expect(await screen.findByRole("button", { name: "Go on" })).toBeDefined();
});

test("the rate leaves errors out and says how sure it is", async () => {
  const { evals } = mesh.state;
  evals.add({ cases: 4 });
  for (const [ordinal, status] of ["passed", "passed", "failed", "error"].entries()) {
    evals.result("eval_1", { ordinal, status });
  }
  evals.end("eval_1");
  await renderPage(mesh, "/evals/eval_1");
  expect((await screen.findAllByText("66.7%")).length).toBeGreaterThan(0);
  expect(screen.getAllByText("(20.8% to 93.9%)").length).toBeGreaterThan(0);
});

test("devices tell their state, why one is in quarantine, and their counts; choosing one narrows the grid", async () => {
  const { evals } = mesh.state;
  evals.nodes = [
    fakeEvalNode(),
    fakeEvalNode({
      node_id: "node_2",
      name: "desk",
      state: "quarantined",
      reason: "5 failures in a row",
      infra_errors: 5,
    }),
    fakeEvalNode({ node_id: "node_3", name: "phone", state: "unfit", reason: "it has no slot" }),
  ];
  evals.add({ cases: 2 });
  evals.result("eval_1", { ordinal: 0 });
  evals.result("eval_1", { ordinal: 1, node_id: "node_2", node: "desk", status: "error" });
  const { history } = await renderPage(mesh, "/evals/eval_1");
  const strip = await screen.findByRole("list", { name: "Devices" });
  expect(strip.textContent).toContain("Quarantined5 failures in a row");
  await waitFor(() => expect(strip.textContent).toContain("! 1 Error"));
  expect(screen.getByText("1 device takes no part")).toBeDefined();
  await userEvent.click(within(strip).getByRole("button", { name: "desk" }));
  await waitFor(() => expect(cells()).toEqual(["case-2, desk: Error"]));
  expect(screen.getByText("1 of 2 cases")).toBeDefined();
  expect(history.at(-1)).toBe("/evals/eval_1?device=node_2");
});

test("a case shows what went in and out, why it did not pass, and each of its results", async () => {
  const { evals } = mesh.state;
  evals.add({ cases: 1, settings: twoRuns });
  evals.result("eval_1", { ordinal: 0, run: 1 }, { output: "Good day" });
  evals.result(
    "eval_1",
    { ordinal: 0, run: 2, status: "failed", attempt: 1 },
    {
      output: { text: "Bye" },
      assertions: [{ type: "contains", status: "failed", message: "it is not there", expected: "Hi", actual: "Bye" }],
      trace: {
        tool_calls: [{ id: "1", server: "files", tool: "read", arguments: { path: "a" }, error: "no such file" }],
      },
    },
  );
  evals.result("eval_1", { ordinal: 0, run: 1, status: "timeout", observation: true, node: "desk", node_id: "node_2" });
  evals.end("eval_1");
  const { history } = await renderPage(mesh, "/evals/eval_1");
  const grid = await screen.findByRole("grid");
  await waitFor(() => expect(cells()).toContain("case-1, run 2: Failed"));
  grid.focus();
  await userEvent.keyboard("{ArrowRight}{ArrowRight}{Enter}");
  const dialog = await screen.findByRole("dialog", { name: "case-1" });
  expect(history.at(-1)).toBe("/evals/eval_1?case=1&result=2");
  expect((await within(dialog).findByRole("region", { name: "Output: content" })).textContent).toContain(
    '"text": "Bye"',
  );
  expect(within(dialog).getByRole("region", { name: "Expected of assertion 1" }).textContent).toBe("Hi");
  expect(within(dialog).getByRole("region", { name: "Actual of assertion 1" }).textContent).toBe("Bye");
  expect(within(dialog).getByText("no such file")).toBeDefined();
  const all = within(dialog).getByRole("list", { name: "Results of case-1" });
  expect(all.textContent).toContain("Timed out, run 1, desk, 100 ms (observation)");
  await userEvent.click(within(all).getByRole("button", { name: /Passed, run 1/ }));
  await waitFor(() =>
    expect(within(dialog).getByRole("region", { name: "Output: content" }).textContent).toBe("Good day"),
  );
  // One result is loaded at a time, each by its place in the log.
  const loads = mesh.seen.filter(({ path }) => path.includes("page_size=1&") || path.endsWith("page_size=1"));
  expect(loads.map(({ path }) => path)).toContain("/v1/evals/eval_1/results?case_id=case-1&after_seq=1&page_size=1");
  await userEvent.click(within(dialog).getByRole("button", { name: "Close" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});

test("what is not passed is found, and an eval without a fitting case leads back to all", async () => {
  const { evals } = mesh.state;
  evals.add({ cases: 3 });
  for (const [ordinal, status] of ["passed", "failed", "passed"].entries()) evals.result("eval_1", { ordinal, status });
  evals.end("eval_1");
  await renderPage(mesh, "/evals/eval_1");
  await userEvent.selectOptions(await screen.findByLabelText("Show"), "bad");
  await waitFor(() =>
    expect(screen.getAllByRole("rowheader").map((head) => head.textContent?.trim())).toEqual(["case-2"]),
  );
  await userEvent.selectOptions(screen.getByLabelText("Show"), "timeout");
  await screen.findByText("No case fits");
  await userEvent.click(screen.getByRole("button", { name: "Show all" }));
  await waitFor(() => expect(screen.getAllByRole("rowheader")).toHaveLength(3));
});

test("an eval is stopped, gone on with, its errors retried, and removed", async () => {
  const { evals } = mesh.state;
  evals.add({ cases: 2 });
  evals.result("eval_1", { ordinal: 0, status: "error" });
  const { history } = await renderPage(mesh, "/evals/eval_1");
  await userEvent.click(await screen.findByRole("button", { name: "Stop" }));
  expect((await screen.findByRole("button", { name: "Stopping…" })).hasAttribute("disabled")).toBe(true);
  act(() => evals.end("eval_1", "cancelled"));
  await userEvent.click(await screen.findByRole("button", { name: "Retry 1 error" }));
  // What was an error counts no more: the log is read anew.
  await waitFor(() => expect(cells()).toContain("case-1, laptop: No result yet"));
  expect(sent("POST", "/resume")?.body).toEqual({ retry_errors: true });
  await waitFor(() => expect(mesh.evalFollowers).toBe(1));
  act(() => {
    evals.result("eval_1", { ordinal: 0 });
    evals.result("eval_1", { ordinal: 1 });
    evals.end("eval_1");
  });
  await waitFor(() => expect(cells()).toEqual(["case-1, laptop: Passed", "case-2, laptop: Passed"]));
  expect(screen.queryByRole("button", { name: "Go on" })).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Remove" }));
  await userEvent.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Remove" }));
  await screen.findByText("Eval 1 is removed.");
  expect(history.at(-1)).toBe("/evals");
});

test("the report is the log as a local eval writes it, with what counts and no more", async () => {
  const { evals } = mesh.state;
  evals.add({ cases: 120 });
  for (let ordinal = 0; ordinal < 120; ordinal += 1)
    evals.result("eval_1", { ordinal }, { usage: { total_tokens: 3 } });
  evals.result("eval_1", { ordinal: 0, status: "failed", observation: true });
  evals.end("eval_1");
  const blobs: Blob[] = [];
  vi.stubGlobal(
    "URL",
    Object.assign(URL, {
      createObjectURL: (blob: Blob) => (blobs.push(blob), "blob:x"),
      revokeObjectURL: () => undefined,
    }),
  );
  await renderPage(mesh, "/evals/eval_1");
  await userEvent.click(await screen.findByRole("button", { name: "Report" }));
  await waitFor(() => expect(blobs).toHaveLength(1));
  const lines = (await blobs[0]!.text()).trim().split("\n");
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    type: "start",
    agent_id: "helper",
    total_cases: 120,
    suite: "s1",
  });
  expect(lines).toHaveLength(121);
  expect(lines[1]).toMatch(
    /^\{"type":"result","id":"case-1","run":1,"hash":"h","status":"passed","duration_ms":100,"usage":\{/,
  );
  expect(JSON.parse(lines[120] ?? "")).toMatchObject({ id: "case-120", output: "Hello", device: "laptop" });
});

test("two evals of the same cases are compared: rates, the difference, and the cases that changed", async () => {
  const { evals } = mesh.state;
  for (const [n, statuses] of [
    ["passed", "passed", "failed"],
    ["failed", "passed", "passed"],
  ].entries()) {
    evals.add({ cases: 3 });
    for (const [ordinal, status] of statuses.entries()) {
      evals.result(`eval_${n + 1}`, { ordinal, status }, { output: `answer ${n + 1}` });
    }
    evals.end(`eval_${n + 1}`);
  }
  evals.add({ cases: 3, suite: "other", name: "Not this" });
  const { history } = await renderPage(mesh, "/evals/eval_2");
  await userEvent.click(await screen.findByRole("button", { name: "Compare" }));
  const field = await screen.findByLabelText("Compare with");
  expect(
    within(field)
      .getAllByRole("option")
      .map((option) => option.getAttribute("value")),
  ).toEqual(["", "eval_1"]);
  await userEvent.selectOptions(field, "eval_1");
  expect(history.at(-1)).toBe("/evals/eval_2?vs=eval_1");
  expect(await screen.findByText("Too few changes to tell")).toBeDefined();
  const broken = await screen.findByRole("list", { name: "Newly failing (1)" });
  expect(broken.textContent).toContain("case-1");
  expect(broken.textContent).toContain("1/1 → 0/1");
  expect(screen.getByRole("list", { name: "Newly passing (1)" }).textContent).toContain("case-3");
  await userEvent.click(within(broken).getByRole("button", { name: "case-1" }));
  const dialog = await screen.findByRole("dialog", { name: "case-1" });
  await waitFor(() =>
    expect(
      within(dialog)
        .getAllByRole("region", { name: /Output: content$/ })
        .map((one) => one.textContent),
    ).toContain("answer 2"),
  );
  expect(dialog.textContent).toContain("answer 1");
});

test("a draft shows its cases by name and is started", async () => {
  mesh.state.evals.add({ state: "draft" }, [
    { id: "hello", input: "Hi" },
    { id: "bye", input: "Bye" },
  ]);
  await renderPage(mesh, "/evals/eval_1");
  await waitFor(() => expect(cells()).toEqual(["hello, laptop: No result yet", "bye, laptop: No result yet"]));
  expect(mesh.evalFollowers).toBe(0);
  await userEvent.click(screen.getByRole("button", { name: "Start" }));
  await waitFor(() => expect(mesh.evalFollowers).toBe(1));
  act(() => void mesh.state.evals.result("eval_1", { ordinal: 1, status: "failed" }));
  await waitFor(() => expect(cells()).toContain("bye, laptop: Failed"));
});

test("an eval that is gone on with elsewhere is followed again", async () => {
  const { evals } = mesh.state;
  evals.add({ cases: 2 });
  evals.result("eval_1", { ordinal: 0 });
  evals.end("eval_1", "cancelled");
  await renderPage(mesh, "/evals/eval_1");
  await screen.findByText("Cancelled");
  evals.change("eval_1", { state: "running" });
  // Its first batch is a run.
  act(() => mesh.state.tell("run.changed", "run_9", { id: "run_9", assistant: "helper" }));
  await screen.findByText("Running", undefined, { timeout: 5_000 });
  await waitFor(() => expect(mesh.evalFollowers).toBe(1));
  act(() => void evals.result("eval_1", { ordinal: 1 }));
  await waitFor(() => expect(cells()).toContain("case-2, laptop: Passed"));
});

test("an eval that is gone says so", async () => {
  await renderPage(mesh, "/evals/eval_9");
  expect(await screen.findByText("eval eval_9 was not found")).toBeDefined();
});
