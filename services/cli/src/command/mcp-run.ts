/**
 * A run that does one thing with the tools of an assistant, and its result.
 *
 * The first interrupt cancels the run and waits for its end, the second leaves at once.
 */

import { isObject, MeshError } from "@mesh/kernel";
import type { CancelRunResponse, CreateRunRequest, CreateRunResponse, GetRunResponse, RunEvent } from "@mesh/proto";

import { type Cli, type Target } from "../cli.ts";
import { apiPath, Client } from "../client/client.ts";
import { followRun } from "../client/event-stream.ts";

/** The run that is wanted. */
export interface ToolWish {
  readonly assistant: string;
  readonly node: string | undefined;
  readonly options: Readonly<Record<string, unknown>>;
  readonly timeoutSeconds: number;
}

/** What it gave. */
export interface ToolResult {
  readonly runId: string;
  readonly text: string;
  readonly value: unknown;
}

/** How long it waits for a device: a person sits at the terminal. */
const QUEUE_SECONDS = 60;

/** Runs it to its end; throws what it failed with. */
export async function runTool(cli: Cli, target: Target, wish: ToolWish): Promise<ToolResult> {
  const client = new Client(cli.clock, target);
  const leave = new AbortController();
  const interrupted = new MeshError("cancelled", "interrupted");
  let runId: string | undefined;
  let isStopped = false;
  const cancel = async (run: string): Promise<void> => {
    await client.post<CancelRunResponse>(apiPath`/v1/runs/${run}/cancel`, { timeoutMs: 10_000 });
  };
  const unlisten = cli.interrupts.listen((_signal, count) => {
    isStopped = true;
    if (count > 1) leave.abort(interrupted);
    // What cannot be cancelled now ends by its time limit; the second interrupt leaves.
    else if (runId !== undefined) void cancel(runId).catch(() => leave.abort(interrupted));
  });
  try {
    runId = await create(cli, client, { workspace: target.workspace, wish, signal: leave.signal });
    if (isStopped) await cancel(runId);
    const heard = await follow(cli, client, runId, leave.signal);
    if (isStopped) throw interrupted;
    return await resultOf(client, runId, heard);
  } finally {
    unlisten();
  }
}

interface Creation {
  readonly workspace: string;
  readonly wish: ToolWish;
  readonly signal: AbortSignal;
}

async function create(cli: Cli, client: Client, { workspace, wish, signal }: Creation): Promise<string> {
  const body: Partial<CreateRunRequest> = {
    assistant: wish.assistant,
    input: "",
    options: { ...wish.options },
    requirements: { node: wish.node ?? "", labels: {}, os: "", arch: "", tools: [] },
    timeout_seconds: wish.timeoutSeconds,
    queue_ttl_seconds: QUEUE_SECONDS,
    on_lost: "fail",
  };
  const { run } = await client.post<CreateRunResponse>(apiPath`/v1/workspaces/${workspace}/runs`, {
    body,
    headers: { "idempotency-key": cli.ids.next("req") },
    signal,
  });
  if (run !== undefined) return run.id;
  throw new MeshError("data_loss", "the coordinator did not name the run it started — see `yao runs list`");
}

interface Heard {
  text: string | undefined;
  value: unknown;
}

async function follow(cli: Cli, client: Client, run: string, signal: AbortSignal): Promise<Heard> {
  const heard: Heard = { text: undefined, value: undefined };
  const { terminal } = cli;
  const onConnection = (lost: MeshError | undefined): void =>
    terminal.progress(lost === undefined ? "connected again" : `connection lost, trying again: ${lost.message}`);
  for await (const event of followRun(client, cli.clock, run, { signal, isPatient: true, onConnection })) {
    const line = hear(event, heard);
    if (line !== undefined && line !== "") terminal.progress(line);
  }
  return heard;
}

/** Takes what an event says of the result; returns what it says to a person who waits. */
function hear({ kind, data }: RunEvent, heard: Heard): string | undefined {
  const body: unknown = data;
  if (!isObject(body)) return undefined;
  if (kind !== "message") return kind === "run.placed" ? `placed on ${String(body["node"])}` : textIn(body, "reason");
  const props = isObject(body["props"]) ? body["props"] : {};
  if (body["type"] === "execute") heard.text = textIn(props, "output") ?? heard.text;
  else if (body["type"] === "loading") return textIn(props, "message");
  else if (props["event"] === "stream_end") heard.value = endValue(props["data"]);
  return undefined;
}

function endValue(data: unknown): unknown {
  const metadata = isObject(data) ? data["metadata"] : undefined;
  return isObject(metadata) ? metadata["next"] : undefined;
}

async function resultOf(client: Client, runId: string, { text, value }: Heard): Promise<ToolResult> {
  const { run } = await client.get<GetRunResponse>(apiPath`/v1/runs/${runId}`);
  if (run?.state === "succeeded") return { runId, text: text ?? run.output, value };
  if (run?.state === "cancelled") throw new MeshError("aborted", `${runId} was cancelled — call again`);
  const why = run?.error?.message ?? run?.reason ?? "its end is unknown";
  const isQueued = run?.error?.code === "queue_expired";
  const hint = isQueued ? "see which devices are online with `yao node list`" : `see \`yao runs show ${runId}\``;
  throw new MeshError("failed_precondition", `${why} — ${hint}`);
}

function textIn(object: Readonly<Record<string, unknown>>, key: string): string | undefined {
  const value = object[key];
  return typeof value === "string" ? value : undefined;
}
