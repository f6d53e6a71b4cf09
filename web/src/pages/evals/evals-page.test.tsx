import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { FakeMesh } from "../../testing/fake-mesh.ts";
import { Refusal } from "../../testing/fake-state.ts";
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

const posts = (path: string) => mesh.seen.filter((one) => one.method === "POST" && one.path === path);

async function openDialog(): Promise<HTMLElement> {
  await renderPage(mesh, "/evals");
  await userEvent.click((await screen.findAllByRole("button", { name: "New eval" }))[0]!);
  const dialog = await screen.findByRole("dialog", { name: "New eval" });
  await within(dialog).findByRole("option", { name: /helper/i });
  await userEvent.selectOptions(within(dialog).getByLabelText("Assistant"), "helper");
  return dialog;
}

const fileOf = (text: string): File => new File([text], "cases.jsonl");

test("the list has the newest first, with state, rate and progress; the feed keeps it up to date", async () => {
  const { evals } = mesh.state;
  evals.add({ cases: 2, name: "First" });
  evals.result("eval_1", { ordinal: 0 });
  evals.result("eval_1", { ordinal: 1, status: "failed" });
  evals.end("eval_1");
  evals.add({ cases: 4, name: "Second" });
  await renderPage(mesh, "/evals");
  const list = await screen.findByRole("list", { name: "Evals" });
  const rows = within(list).getAllByRole("listitem");
  expect(rows.map((row) => row.textContent)).toEqual([
    expect.stringMatching(/^RunningSecond.*4 cases, 1 run each.*no rate yet/),
    expect.stringMatching(/^EndedFirst.*50% \(9\.5% to 90\.5%\)/),
  ]);
  evals.result("eval_2", { ordinal: 0 });
  const changed = evals.evals.get("eval_2");
  act(() => mesh.state.tell("eval.changed", "eval_2", { ...changed }));
  await waitFor(() => expect(rows[0]?.textContent).toContain("100%"));
  expect(within(rows[0]!).getByRole("progressbar").getAttribute("aria-valuetext")).toBe("1 of 4");
});

test("an eval is started from pasted cases, where and how the person says, and its page opens", async () => {
  const dialog = await openDialog();
  const cases = within(dialog).getByLabelText("Cases");
  await userEvent.click(cases);
  await userEvent.paste('{"id":"a","input":"Hi"}\n{"id":"b","input":"Ho"}');
  await userEvent.clear(within(dialog).getByLabelText("Runs per case"));
  await userEvent.type(within(dialog).getByLabelText("Runs per case"), "3");
  await userEvent.selectOptions(within(dialog).getByLabelText("How"), "mirror");
  await userEvent.selectOptions(within(dialog).getByLabelText("Connector"), "openai.gpt");
  await userEvent.click(within(dialog).getByLabelText("laptop"));
  expect(await within(dialog).findByText("6 runs on 1 device with 4 slots")).toBeDefined();
  expect(await within(dialog).findByText("it is not among the chosen devices")).toBeDefined();
  await userEvent.click(within(dialog).getByRole("button", { name: "Start" }));
  expect(await screen.findByRole("grid")).toBeDefined();
  const [made] = posts("/v1/evals");
  expect(made?.headers["idempotency-key"]).toMatch(/\S{16,}/);
  expect(made?.body).toMatchObject({
    workspace: "ws_1",
    assistant: "helper",
    placement: { mode: "mirror", copies: 2, nodes: ["node_1"] },
    settings: { runs: 3, parallel: 1, timeout_ms: 120_000, connector: "openai.gpt", fail_fast: false },
    cases: [
      { id: "a", input: "Hi" },
      { id: "b", input: "Ho" },
    ],
  });
});

test("cases that are none are told with their lines, and nothing is sent", async () => {
  const dialog = await openDialog();
  await userEvent.click(within(dialog).getByRole("button", { name: "Start" }));
  expect(await within(dialog).findByText("Paste cases, or choose a file.")).toBeDefined();
  await userEvent.click(within(dialog).getByLabelText("Cases"));
  await userEvent.paste('{"id":"a","input":"Hi"}\n{"id":"a"}\nnonsense');
  const problems = within(dialog).getByRole("list", { name: "Problems in the cases" });
  expect(problems.textContent).toMatch(/Line 2: the case needs an input.*Line 3: this is not JSON/);
  await userEvent.click(within(dialog).getByRole("button", { name: "Start" }));
  expect(posts("/v1/evals")).toEqual([]);
});

test("what the coordinator says about single cases is told with their lines", async () => {
  const dialog = await openDialog();
  await userEvent.upload(
    within(dialog).getByLabelText("File of cases"),
    fileOf('// two\n{"id":"a","input":"Hi"}\n{"id":"b","input":"Ho","name":5}'),
  );
  expect(await within(dialog).findByText("2 cases: a, b")).toBeDefined();
  await userEvent.click(within(dialog).getByRole("button", { name: "Start" }));
  const refused = await within(dialog).findByRole("list", { name: "Cases that were refused" });
  expect(refused.textContent).toBe("Line 3, b: name must be a text");
});

test("many cases go in parts to a draft, which is then started", async () => {
  const lines = Array.from({ length: 1_200 }, (_none, index) => JSON.stringify({ id: `c${index}`, input: "x" }));
  const dialog = await openDialog();
  await userEvent.upload(within(dialog).getByLabelText("File of cases"), fileOf(lines.join("\n")));
  await within(dialog).findByText(/^1,200 cases/);
  await userEvent.click(within(dialog).getByRole("button", { name: "Start" }));
  await screen.findByRole("grid");
  expect(posts("/v1/evals")[0]?.body).toMatchObject({ draft: true });
  const parts = posts("/v1/evals/eval_1/cases").map(({ body }) => body as { at: number; cases: unknown[] });
  expect(parts.map(({ at, cases }) => [at, cases.length])).toEqual([
    [0, 500],
    [500, 500],
    [1_000, 200],
  ]);
  expect(posts("/v1/evals/eval_1/start")).toHaveLength(1);
});

test("a refusal in a later part names the line of the whole file, and no draft stays", async () => {
  const lines = Array.from({ length: 700 }, (_none, index) =>
    JSON.stringify({ id: `c${index}`, input: "x", ...(index === 650 && { name: 1 }) }),
  );
  const dialog = await openDialog();
  await userEvent.upload(within(dialog).getByLabelText("File of cases"), fileOf(lines.join("\n")));
  await within(dialog).findByText(/^700 cases/);
  await userEvent.click(within(dialog).getByRole("button", { name: "Start" }));
  const refused = await within(dialog).findByRole("list", { name: "Cases that were refused" });
  expect(refused.textContent).toBe("Line 651, c650: name must be a text");
  expect(mesh.state.evals.evals.size).toBe(0);
});

test("what may have arrived is repeated under the same key; what was refused is made anew", async () => {
  const dialog = await openDialog();
  await userEvent.click(within(dialog).getByLabelText("Cases"));
  await userEvent.paste('{"id":"a","input":"Hi"}');
  const start = within(dialog).getByRole("button", { name: "Start" });
  for (const status of [503, 400]) {
    mesh.refuse.set(
      "POST /v1/evals",
      new Refusal(status, status === 503 ? "unavailable" : "invalid_argument", `no ${status}`),
    );
    await userEvent.click(start);
    await within(dialog).findByText(`no ${status}`);
  }
  await userEvent.click(start);
  await screen.findByRole("grid");
  const keys = posts("/v1/evals").map(({ headers }) => headers["idempotency-key"]);
  expect(keys[1]).toBe(keys[0]);
  expect(keys[2]).not.toBe(keys[0]);
});
