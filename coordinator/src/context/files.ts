/** Wires the files of workspaces and their documents. */

import type { Bus } from "@mesh/bus";
import { type Ids, MeshError, type Service, systemClock } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import type { Store } from "@mesh/store";

import type { Access } from "../auth/access.ts";
import { Devices } from "../files/devices.ts";
import { createFileApi } from "../files/file-api.ts";
import { createFileContents } from "../files/file-contents.ts";
import { createFileRpc } from "../files/file-rpc.ts";
import type { FileContents } from "../gateway/content-route.ts";
import type { DocumentApi, FileApi } from "../gateway/operation.ts";
import { createDocumentApi } from "../knowledge/document-api.ts";
import { createKnowledgeState } from "../knowledge/knowledge-state.ts";
import { NodeDocuments } from "../knowledge/node-documents.ts";
import { UploadReader } from "../knowledge/upload-reader.ts";
import type { StateHandler } from "../state/state-rpc.ts";

/** What files are made of. */
export interface FilesCore {
  readonly store: Store;
  readonly access: Access;
  readonly bus: Bus;
  readonly ids: Ids;
  readonly log: Logger;
}

type StateServices = Readonly<Record<string, StateHandler>>;

/** The wired files. */
export interface Files {
  readonly api: { readonly files: FileApi; readonly documents: DocumentApi };
  readonly contents: FileContents;
  readonly services: readonly Service[];
  /** The state services of runs with those of files and documents; `search` goes to whom its method belongs. */
  readonly beside: (services: StateServices) => StateServices;
}

/** Puts them together; `recorded` is called after each commit that the feed is to tell. */
export function createFiles({ store, access, bus, ids, log }: FilesCore, recorded: () => void): Files {
  const devices = new Devices({ sql: store.sql, bus });
  const documents = new NodeDocuments({ store, ids });
  const reader = new UploadReader({ store, clock: systemClock, log: log.child({ component: "documents" }), recorded });
  const state = createKnowledgeState({ store, ids, devices });
  return {
    api: {
      files: createFileApi({ store, access, ids, devices }),
      documents: createDocumentApi({ store, access, ids, devices, uploaded: () => reader.poke(), recorded }),
    },
    contents: createFileContents({ store, access, devices }),
    services: [createFileRpc({ bus, store, documents, recorded }), reader],
    beside: (services) => ({ ...services, ...state, search: searchOf(state.search, services["search"]) }),
  };
}

function searchOf(knowledge: StateHandler, data: StateHandler | undefined): StateHandler {
  return (scope, method, args) => {
    if (method === "KB") return knowledge(scope, method, args);
    if (data !== undefined) return data(scope, method, args);
    throw new MeshError("not_found", `search has no method ${method}`);
  };
}
