/** The handlers of templates. */

import { MeshError } from "@mesh/kernel";
import type { PutTemplateRequest, Template } from "@mesh/proto";
import { insertAudit } from "@mesh/store";

import { actorOf } from "../auth/caller.ts";
import type { TaskApi } from "../gateway/operation.ts";
import type { TaskApiDeps } from "./task-access.ts";
import { type StoredTemplate, variablesOf } from "./template.ts";
import { deleteTemplate, listTemplates, putTemplate } from "./template-store.ts";

const MAX_TEMPLATES = 200;

/** Builds them. */
export function createTemplateApi(
  deps: TaskApiDeps,
): Pick<TaskApi, "putTemplate" | "listTemplates" | "removeTemplate"> {
  const { store, access, ids } = deps;
  return {
    putTemplate: async (request, { caller }) => {
      const workspace = await access.workspace(caller, request.workspace, "write");
      const body = toStored(request);
      if (body.title === "" && body.message === "") {
        throw new MeshError("invalid_argument", "a template needs a title or a message");
      }
      await store.sql.begin(async (tx) => {
        if ((await putTemplate(tx, workspace.id, request.template, body)) > MAX_TEMPLATES) {
          throw new MeshError(
            "resource_exhausted",
            `a workspace holds at most ${MAX_TEMPLATES} templates; remove some first`,
          );
        }
        await insertAudit(tx, {
          id: ids.next("audit"),
          actor: actorOf(caller),
          action: "template.put",
          object: request.template,
          workspaceId: workspace.id,
        });
      });
      return { template: toTemplate(request.template, body) };
    },
    listTemplates: async ({ workspace: ref }, { caller }) => {
      const workspace = await access.workspace(caller, ref, "read");
      const rows = await listTemplates(store.sql, workspace.id);
      return { templates: rows.map(({ name, body }) => toTemplate(name, body)) };
    },
    removeTemplate: async (request, { caller }) => {
      const workspace = await access.workspace(caller, request.workspace, "write");
      await store.sql.begin(async (tx) => {
        if (!(await deleteTemplate(tx, workspace.id, request.template))) {
          throw new MeshError("not_found", `there is no template ${request.template}; see: yao task template list`);
        }
        await insertAudit(tx, {
          id: ids.next("audit"),
          actor: actorOf(caller),
          action: "template.remove",
          object: request.template,
          workspaceId: workspace.id,
        });
      });
      return {};
    },
  };
}

function toStored(request: PutTemplateRequest): StoredTemplate {
  const { title, message, description, assistant, priority, labels, placement } = request;
  return {
    title,
    message,
    description,
    assistant,
    priority,
    labels: [...labels],
    ...(placement === undefined ? {} : { placement }),
  };
}

function toTemplate(name: string, body: StoredTemplate): Template {
  return { name, ...body, placement: body.placement, variables: [...variablesOf(body)] };
}
