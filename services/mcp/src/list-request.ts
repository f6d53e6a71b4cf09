/** The requests behind the four lists of a server. */

import {
  type ClientRequest,
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ListToolsResultSchema,
} from "@modelcontextprotocol/sdk/types.js";

import type { ListKind, McpLists } from "./session.ts";

/** How one list is asked for and read. */
export interface ListRequest<Item> {
  /** What a server must offer to be asked. */
  readonly capability: "tools" | "resources" | "prompts";
  readonly request: ClientRequest;
  readonly schema: ListSchema;
  readonly items: (result: unknown) => readonly Item[];
}

type ListSchema =
  | typeof ListToolsResultSchema
  | typeof ListResourcesResultSchema
  | typeof ListResourceTemplatesResultSchema
  | typeof ListPromptsResultSchema;

const LISTS = {
  tools: { capability: "tools", method: "tools/list", schema: ListToolsResultSchema },
  resources: { capability: "resources", method: "resources/list", schema: ListResourcesResultSchema },
  resourceTemplates: {
    capability: "resources",
    method: "resources/templates/list",
    schema: ListResourceTemplatesResultSchema,
  },
  prompts: { capability: "prompts", method: "prompts/list", schema: ListPromptsResultSchema },
} as const;

/** The request for one page of a list. */
export function listRequest<Kind extends ListKind>(
  kind: Kind,
  cursor: string | undefined,
): ListRequest<McpLists[Kind]> {
  const { capability, method, schema } = LISTS[kind];
  const request = { method, params: cursor === undefined ? {} : { cursor } };
  // The SDK has validated the answer against the list's schema; its key is the list's name.
  const items = (result: unknown): readonly McpLists[Kind][] =>
    (result as Record<Kind, readonly McpLists[Kind][]>)[kind];
  return { capability, request, schema, items };
}
