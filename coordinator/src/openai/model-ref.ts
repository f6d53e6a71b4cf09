/**
 * Assistants as models: `ASSISTANT` in the workspace a token means without saying so, `WORKSPACE/ASSISTANT` in any other.
 */

import { MeshError } from "@mesh/kernel";
import type {
  Assistant,
  GetAssistantResponse,
  ListAssistantsResponse,
  ListWorkspacesResponse,
  Workspace,
} from "@mesh/proto";

import type { Api, Call } from "../gateway/operation.ts";
import { handle, operationOf, validate } from "../gateway/operations.ts";
import { OpenAiError } from "./openai-error.ts";

/** A model as it stands on the wire. */
export interface Model {
  readonly id: string;
  readonly object: "model";
  readonly created: number;
  readonly owned_by: string;
}

/** The assistant a model stands for. */
export interface ModelTarget {
  /** Id of the workspace. */
  readonly workspace: string;
  readonly assistant: string;
}

const MAX_WORKSPACES = 200;

/** The assistants that the caller may run. */
export async function listModels(api: Api, call: Call): Promise<readonly Model[]> {
  const workspaces = await workspacesOf(api, call);
  const home = homeOf(workspaces);
  const models: Model[] = [];
  for (const workspace of workspaces.slice(0, MAX_WORKSPACES)) {
    for (const assistant of await assistantsOf(api, workspace, call)) {
      const prefix = workspace.id === home?.id ? "" : `${workspace.name}/`;
      models.push(toModel(`${prefix}${assistant.id}`, workspace));
    }
  }
  return models;
}

/** One of them; throws 404 `model_not_found`. */
export async function retrieveModel(api: Api, id: string, call: Call): Promise<Model> {
  const { workspace } = await findModel(api, id, call);
  const found = (await workspacesOf(api, call)).find((each) => each.id === workspace);
  if (found === undefined) throw notFound(id);
  return toModel(id, found);
}

/** The assistant that a model means; throws 404 `model_not_found`. */
export async function findModel(api: Api, id: string, call: Call): Promise<ModelTarget> {
  const slash = id.indexOf("/");
  const workspaces = await workspacesOf(api, call);
  const ref = slash < 0 ? undefined : id.slice(0, slash);
  const workspace =
    ref === undefined ? homeOf(workspaces) : workspaces.find(({ id: own, name }) => own === ref || name === ref);
  const assistant = id.slice(slash + 1);
  if (workspace === undefined || assistant === "") throw notFound(id);
  const operation = operationOf("apps", "getAssistant");
  try {
    const input = validate(operation, { workspace: workspace.id, assistant });
    await (handle(api, operation, input, call) as Promise<GetAssistantResponse>);
  } catch (thrown) {
    const error = MeshError.from(thrown);
    if (error.code === "not_found" || error.code === "invalid_argument") throw notFound(id);
    throw error;
  }
  return { workspace: workspace.id, assistant };
}

/** The workspace that is meant without a word: the only one, else the default one. */
function homeOf(workspaces: readonly Workspace[]): Workspace | undefined {
  return workspaces.length === 1 ? workspaces[0] : workspaces.find((each) => each.is_default);
}

async function workspacesOf(api: Api, call: Call): Promise<readonly Workspace[]> {
  const operation = operationOf("workspaces", "listWorkspaces");
  const answer = (await handle(api, operation, validate(operation, {}), call)) as ListWorkspacesResponse;
  return answer.workspaces;
}

async function assistantsOf(api: Api, { id }: Workspace, call: Call): Promise<readonly Assistant[]> {
  const operation = operationOf("apps", "listAssistants");
  const answer = (await handle(api, operation, validate(operation, { workspace: id }), call)) as ListAssistantsResponse;
  return answer.assistants;
}

// Assistants have no time of their own: the workspace's is stable, as programs expect.
function toModel(id: string, { name, created_at: at }: Workspace): Model {
  const createdMs = Date.parse(at);
  return {
    id,
    object: "model",
    created: Number.isNaN(createdMs) ? 0 : Math.floor(createdMs / 1000),
    owned_by: name,
  };
}

function notFound(id: string): OpenAiError {
  const text = `model "${id.slice(0, 300)}" was not found, or this token may not use it; GET /v1/models lists those it may: assistants as ID, or WORKSPACE/ID outside of the default workspace`;
  return new OpenAiError(new MeshError("not_found", text), { code: "model_not_found", param: "model" });
}
