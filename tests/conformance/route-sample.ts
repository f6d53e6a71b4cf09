/** A request to every route that it answers well, for tests that go through the whole document. */

import { bundleApp, demoAppDirectory, readAppDirectory } from "@mesh/assistants";
import { createUserKey, signWithSeed } from "@mesh/bus";
import { until } from "@mesh/kernel";

import { type RunView, type TestMesh } from "../harness/test-mesh.ts";

/** What is sent to a route. */
export interface Sample {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: unknown;
  /** Where a token alone cannot be answered well. */
  readonly refusedWith?: number;
}

/** A run of the demo app that waits for an approval. */
async function askingRun(mesh: TestMesh): Promise<RunView> {
  const run = await mesh.createRun({
    assistant: "hello",
    input: '/tool bash {"command":"true"}',
    options: { tools: ["bash"], approve: ["bash"] },
  });
  return mesh.until(run.id, ({ state }) => state === "waiting");
}

/** A task that has run, and the agent that it became. */
export async function grownAgent(mesh: TestMesh, workspace: string): Promise<{ task: string; agent: string }> {
  const body = { title: `Grown in ${workspace}`, message: "hi", assistant: "hello", start: true };
  const { task } = await mesh.api.call<{ task: { id: string } }>("POST", `/v1/workspaces/${workspace}/tasks`, body);
  await until(
    async () => {
      const now = await mesh.api.call<{ task: { run_state: string } }>("GET", `/v1/tasks/${task.id}`);
      return now.task.run_state === "succeeded";
    },
    { timeoutMs: 60_000, what: "the end of the task's run" },
  );
  const { agent } = await mesh.api.call<{ agent: { id: string } }>("POST", `/v1/tasks/${task.id}/promote`, {});
  return { task: task.id, agent: agent.id };
}

/** Samples by the name of the operation, in an order in which each finds what it needs; `mesh` has a device alpha and the demo app. */
export async function routeSamples(mesh: TestMesh): Promise<Readonly<Record<string, Sample>>> {
  const key = createUserKey();
  const sign = (text: string): string => Buffer.from(signWithSeed(key.seed, Buffer.from(text))).toString("base64url");
  const { token: joinToken } = await mesh.api.call<{ token: string }>("POST", "/v1/node-tokens", {});
  const { run } = await mesh.api.call<{ run: { id: string } }>("POST", "/v1/workspaces/default/runs", {
    assistant: "hello",
    input: "hi",
  });
  await mesh.ended(run.id);
  const asking = await askingRun(mesh);
  const made = await mesh.api.call<{ token: { id: string } }>("POST", "/v1/tokens", {
    name: "sample",
    user: "sam",
    scopes: ["read"],
  });
  const atMs = Date.now();
  const blue = { workspace: "blue" };
  const talk = await mesh.createRun({ assistant: "hello", input: "hi", chat: "sample-chat" });
  await mesh.ended(talk.id);
  const webhooks = "/v1/workspaces/default/webhooks";
  const { webhook } = await mesh.api.call<{ webhook: { id: string } }>("POST", webhooks, { url: mesh.api.url });
  const hook = { workspace: "default", webhook: webhook.id };
  const sent = await mesh.api.call<{ delivery: { id: string } }>("POST", `${webhooks}/${webhook.id}/test`, {});
  const bundle = bundleApp(await readAppDirectory(demoAppDirectory)).bytes;

  const home = { workspace: "default" };
  const post = <T>(path: string, body: unknown): Promise<T> => mesh.api.call<T>("POST", path, body);
  const board = await post<{ board: { id: string } }>("/v1/workspaces/default/boards", { name: "Sample" });
  const spare = await post<{ board: { id: string } }>("/v1/workspaces/default/boards", { name: "Spare" });
  const newTask = async (title: string): Promise<{ task: string }> => {
    const body = { title, message: "hi", assistant: "hello", board: board.board.id };
    const { task } = await post<{ task: { id: string } }>("/v1/workspaces/default/tasks", body);
    return { task: task.id };
  };
  const task = await newTask("Sample");
  const doomed = await newTask("Doomed");
  await post(`/v1/tasks/${doomed.task}/archive`, {});
  const { columns } = (
    await mesh.api.call<{ board: { columns: { name: string }[] } }>("GET", `/v1/boards/${board.board.id}`)
  ).board;
  const { document } = await post<{ document: { id: string } }>(
    "/v1/workspaces/default/documents?name=sample.txt",
    Buffer.from("A sample about badgers."),
  );
  const { code } = await post<{ code: string }>("/v1/login-codes", {});
  const invited = await post<{ invitation: { id: string }; code: string }>("/v1/workspaces/default/invitations", {
    uses: 2,
  });
  await post("/v1/login", { code: (await post<{ code: string }>("/v1/login-codes", {})).code });
  const { sessions } = await mesh.api.call<{ sessions: { id: string }[] }>("GET", "/v1/account/sessions");
  const grown = await grownAgent(mesh, "default");
  const byAgent = { ...home, agent: grown.agent };
  const share = { agent: grown.agent, access: "run" };
  const shared = await post<{ share: { id: string }; code: string }>("/v1/workspaces/default/shares", share);
  const spareShare = await post<{ share: { id: string } }>("/v1/workspaces/default/shares", share);
  const sharedRun = await post<{ run: string }>(`/v1/shares/${shared.code}/runs`, { input: "hi" });
  // Nobody listens there: an address that answered would say that the browser is gone, which ends its subscription.
  const browser = {
    endpoint: "http://127.0.0.1:9/push",
    p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    auth: "BTBZMqHH6r4Tts7J_aSIgg",
  };
  const { subscription } = await mesh.api.call<{ subscription: { id: string } }>("PUT", "/v1/account/push", browser);
  const spareBrowser = await mesh.api.call<{ subscription: { id: string } }>("PUT", "/v1/account/push", {
    ...browser,
    endpoint: "http://127.0.0.1:9/spare",
  });
  const file = "?node=alpha&path=sample.txt";
  const evalWish = { workspace: "default", assistant: "hello", cases: [{ id: "one", input: "hi" }], draft: true };
  const newEval = async (): Promise<{ eval: string }> => ({
    eval: (await post<{ eval: { id: string } }>("/v1/evals", evalWish)).eval.id,
  });
  const [anEval, stoppedEval, spareEval] = [await newEval(), await newEval(), await newEval()];
  await post(`/v1/evals/${stoppedEval.eval}/cancel`, {});
  return {
    createJoinToken: { body: { uses: 2, labels: { a: "b" } } },
    joinNode: {
      body: { token: joinToken, nkey: key.nkey, signature: sign(`yao-join:${joinToken}`), name: "beta", protocol: 1 },
    },
    renewNode: { body: { nkey: key.nkey, at_ms: atMs, signature: sign(`yao-renew:${key.nkey}:${atMs}`) } },
    listNodes: {},
    getNode: { path: { node: "alpha" } },
    updateNode: { path: { node: "beta" }, body: { labels: { site: "home" }, slots: 2 } },
    drainNode: { path: { node: "beta" }, body: { deadline_seconds: 60 } },
    undrainNode: { path: { node: "beta" }, body: {} },
    removeNode: { path: { node: "beta" } },
    createWorkspace: { body: { name: "blue" } },
    listWorkspaces: {},
    getWorkspace: { path: blue },
    putMember: { path: { ...blue, user: "sam" }, body: { role: "member" } },
    listMembers: { path: blue },
    removeMember: { path: { ...blue, user: "sam" } },
    pushApp: { path: { ...blue, app: "demo" }, body: bundle },
    listApps: { path: blue },
    getApp: { path: { ...blue, app: "demo" } },
    listAssistants: { path: blue },
    getAssistant: { path: { ...blue, assistant: "hello" } },
    putConnector: { path: { ...blue, connector: "my.model" }, body: { type: "openai", model: "m", key: "k" } },
    listConnectors: { path: blue },
    testConnector: { path: { ...blue, connector: "demo" }, body: {} },
    removeConnector: { path: { ...blue, connector: "my.model" } },
    createRun: { path: blue, body: { assistant: "hello", input: "hi", requirements: { labels: { no: "where" } } } },
    listRuns: { path: { workspace: "default" }, query: "?limit=5&state=succeeded" },
    getRun: { path: { run: run.id } },
    cancelRun: { path: { run: run.id }, body: {} },
    answerRun: { path: { run: asking.id }, body: { call_id: asking.pending[0]?.id, decision: "deny", text: "no" } },
    retryRun: { path: { run: run.id }, body: {} },
    listRunEvents: { path: { run: run.id }, query: "?after_seq=1&limit=4" },
    createChatCompletion: { body: { model: "blue/hello", messages: [{ role: "user", content: "hi" }] } },
    listModels: {},
    retrieveModel: { path: { model: "blue/hello" } },
    describeProblem: { path: { problem: "not_found" } },
    listChats: { path: { workspace: "default" }, query: "?limit=1" },
    getChat: { path: { workspace: "default", chat: "sample-chat" } },
    listChatMessages: { path: { workspace: "default", chat: "sample-chat" } },
    deleteChat: { path: { workspace: "default", chat: "sample-chat" } },
    createWebhook: { path: blue, body: { url: mesh.api.url, events: ["run.failed"] } },
    listWebhooks: { path: blue },
    updateWebhook: { path: hook, body: { events: ["all"] } },
    rotateWebhookSecret: { path: hook, body: {} },
    testWebhook: { path: hook, body: {} },
    listDeliveries: { path: hook },
    replayDelivery: { path: { ...hook, delivery: sent.delivery.id }, body: {} },
    removeWebhook: { path: hook },
    pushEvalBundle: { path: blue, body: bundle },
    planEval: { body: { workspace: "blue", cases: 2, runs: 3, placement: { mode: "each" } } },
    createEval: { body: { ...evalWish, workspace: "blue", draft: false, settings: { runs: 2 } } },
    listEvals: { query: "?workspace=blue&page_size=3" },
    addEvalCases: { path: anEval, body: { at: 1, cases: [{ id: "two", input: "ho" }] } },
    startEval: { path: anEval, body: {} },
    getEval: { path: anEval },
    listEvalCases: { path: anEval, query: "?at=1" },
    listEvalResults: { path: anEval, query: "?page_size=2&brief=true" },
    cancelEval: { path: anEval, body: {} },
    resumeEval: { path: stoppedEval, body: {} },
    removeEval: { path: spareEval },
    removeApp: { path: { ...blue, app: "demo" } },
    deleteWorkspace: { path: blue, query: "?force=true" },
    createToken: { body: { name: "other", scopes: ["read"], ttl_seconds: 60 } },
    listTokens: {},
    revokeToken: { path: { token: made.token.id } },
    whoAmI: {},
    getStatus: {},
    listAudit: { query: "?limit=3" },
    createBoard: { path: home, body: { name: "More" } },
    listBoards: { path: home },
    getBoard: { path: { board: board.board.id } },
    updateBoard: { path: { board: board.board.id }, body: { name: "Renamed" } },
    deleteBoard: { path: { board: spare.board.id } },
    createTask: { path: home, body: { title: "One more", message: "hi", assistant: "hello" } },
    listTasks: { path: home, query: "?limit=2" },
    getTask: { path: task },
    updateTask: { path: task, body: { priority: "high" } },
    moveTask: { path: task, body: { column: columns[0]?.name } },
    updateTasks: { path: home, body: { tasks: [task.task], action: "add_label", value: "blue" } },
    startTask: { path: task, body: {} },
    sendToTask: { path: task, body: { text: "and more", hold: true } },
    stopTask: { path: task, body: {} },
    listTaskMessages: { path: task },
    listTaskRuns: { path: task },
    listActivity: { path: task },
    putSchedule: { path: task, body: { schedule: { cron: "0 9 * * *", time_zone: "UTC" } } },
    removeSchedule: { path: task },
    previewSchedule: { body: { cron: "0 9 * * *", count: 2 } },
    putTemplate: { path: { ...home, template: "weekly" }, body: { title: "Weekly", message: "hi" } },
    listTemplates: { path: home },
    removeTemplate: { path: { ...home, template: "weekly" } },
    archiveTask: { path: task, body: {} },
    deleteTask: { path: doomed },
    listInbox: {},
    markInbox: { body: { state: "read" } },
    listFeed: { path: home, query: "?limit=2" },
    writeFile: { path: home, query: file, body: Buffer.from("hello") },
    listFiles: { path: home, query: "?node=alpha" },
    readFile: { path: home, query: file },
    downloadFile: { path: home, query: file },
    copyFile: { path: home, body: { path: "sample.txt", node: "alpha", to_path: "copy.txt" } },
    moveFile: { path: home, body: { path: "copy.txt", node: "alpha", to: "moved.txt" } },
    deleteFile: { path: home, query: file },
    uploadDocument: { path: home, query: "?name=more.txt", body: Buffer.from("More about badgers.") },
    createUpload: { path: home, query: "?name=picture.txt", body: Buffer.from("text") },
    listDocuments: { path: home },
    getDocument: { path: { document: document.id } },
    reindexDocument: { path: { document: document.id }, body: {} },
    searchDocuments: { path: home, query: "?query=badgers" },
    deleteDocument: { path: { document: document.id } },
    updateWorkspace: { path: home, body: { settings: { max_active_runs: 100 } } },
    putSecret: { path: { ...home, name: "SAMPLE" }, body: { value: "v" } },
    listSecrets: { path: home },
    removeSecret: { path: { ...home, name: "SAMPLE" } },
    getLoginOptions: {},
    createLoginCode: { body: {} },
    logIn: { body: { code } },
    getAccount: {},
    updateAccount: { body: { display_name: "Ann" } },
    listSessions: {},
    endSession: { path: { session: sessions[0]?.id ?? "" } },
    getPushKey: {},
    listPushSubscriptions: {},
    putPushSubscription: { body: { ...browser, kinds: ["failed"] } },
    testPush: { path: { subscription: subscription.id }, body: {} },
    removePushSubscription: { path: { subscription: spareBrowser.subscription.id } },
    changePassword: { body: { password: "a long sentence" } },
    createInvitation: { path: home, body: { role: "viewer" } },
    listInvitations: { path: home },
    getInvitation: { path: { code: invited.code } },
    acceptInvitation: { path: { code: invited.code }, body: {} },
    revokeInvitation: { path: { ...home, invitation: invited.invitation.id } },
    listUsers: {},
    updateUser: { path: { user: "sam" }, body: { disabled: false } },
    previewAgent: { path: { task: grown.task } },
    promoteTask: { path: { task: grown.task }, body: {} },
    listAgents: { path: home },
    getAgent: { path: byAgent },
    createShare: { path: home, body: { task: grown.task } },
    listShares: { path: home },
    openShare: { path: { code: shared.code } },
    runShare: { path: { code: shared.code }, body: { input: "hi" } },
    getShareRun: { path: { code: shared.code, run: sharedRun.run } },
    revokeShare: { path: { ...home, share: spareShare.share.id } },
    removeAgent: { path: byAgent },
    // A token has no session to end.
    logOut: { body: {}, refusedWith: 409 },
  };
}
