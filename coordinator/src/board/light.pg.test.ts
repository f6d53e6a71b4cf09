import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { systemClock, until } from "@mesh/kernel";
import { createProviders } from "@mesh/llm";
import { silentLogger } from "@mesh/observability";
import { PutConnectorRequest, UpdateTaskRequest } from "@mesh/proto";
import { afterEach, beforeEach, expect, test } from "vitest";

import { Light } from "./light.ts";
import { type BoardFixture, startBoard } from "./testing/board-fixture.ts";

let board: BoardFixture;
let stop: AbortController;
let running: Promise<void>;
let light: Light;

beforeEach(async () => {
  board = await startBoard();
  const { store, secretBox } = board.fleet.tenant;
  const clock = systemClock;
  const recorded = (): void => undefined;
  light = new Light({ store, secretBox, providers: createProviders({ clock }), clock, log: silentLogger, recorded });
  stop = new AbortController();
  running = light.run(stop.signal);
});

afterEach(async () => {
  stop.abort();
  await running;
  await board[Symbol.asyncDispose]();
});

/** A model at the wire that says one thing to everybody, or refuses. */
async function model(answer: string | undefined): Promise<AsyncDisposable & { readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((incoming, outgoing) => {
    let body = "";
    incoming.on("data", (chunk) => (body += String(chunk)));
    incoming.on("end", () => {
      asked.push(body);
      const said = { choices: [{ index: 0, delta: { content: answer }, finish_reason: "stop" }] };
      const isUp = answer !== undefined;
      outgoing.writeHead(isUp ? 200 : 401, { "content-type": isUp ? "text/event-stream" : "application/json" });
      outgoing.end(isUp ? `data: ${JSON.stringify(said)}\n\ndata: [DONE]\n\n` : '{"error":{"message":"bad key"}}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  await board.fleet.tenant.connectors.putConnector(
    PutConnectorRequest.fromPartial({
      workspace: "default",
      connector: "light",
      type: "openai",
      model: "m",
      host,
      key: "k",
    }),
    board.admin,
  );
  return {
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function finished(title = ""): Promise<string> {
  const task = await board.create({ title, message: "Compare the hotels of https://a.example/list", start: true });
  await board.say(task.run_id ?? "", "The second is the best.");
  await board.end(task.run_id ?? "", "succeeded");
  await board.keep();
  // The bundle of this run is no bundle; without runs only the workspace's connector counts.
  await board.fleet.tenant.store.sql`DELETE FROM runs WHERE task_id = ${task.id}`;
  return task.id;
}

test("a connector called light names and sums up a task, but never over what a person wrote", async () => {
  await using server = await model(
    '{"title": "Best hotel", "summary": "The second hotel won.", "links": [{"title": "List", "url": "https://a.example/list"}]}',
  );
  const ids = [await finished(), await finished("My own title")];
  for (const id of ids) light.ended(id);
  await until(async () => (await board.get(ids[1] ?? "")).summary === "The second hotel won.");
  expect(await board.get(ids[0] ?? "")).toMatchObject({
    title: "Best hotel",
    outputs: [{ kind: "link", target: "https://a.example/list" }],
  });
  expect((await board.get(ids[1] ?? "")).title).toBe("My own title");
  expect(server.asked[0]).toContain("The second is the best.");
});

test("a summary that fails changes nothing about the task", async () => {
  await using server = await model(undefined);
  const id = await finished();
  const before = await board.get(id);
  light.ended(id);
  await until(() => server.asked.length > 0);
  await board.tasks.updateTask(
    UpdateTaskRequest.fromPartial({ task: id, revision: before.revision, priority: "high" }),
    board.admin,
  );
  expect(await board.get(id)).toMatchObject({ title: before.title, summary: before.summary });
});
