/** MCP servers: `mcps/**.mcp.yao`, each with what `mapping/` beside it says of its tools, resources and prompts. */

import { isObject, type JsonObject, parseDuration } from "@mesh/kernel";

import type { Home, Loading } from "./loading.ts";
import { MappingReader } from "./mcp-mapping.ts";
import type { McpServerFile } from "./mcp-server-file.ts";
import type { ProblemLog } from "./problem-log.ts";
import { checkRoot } from "./shape/check-shape.ts";
import { MCP_SHAPE } from "./shape/mcp-shape.ts";
import { entryOf, plainObject, type SourceObject } from "./source-node.ts";

const SERVER_FILE = /^(.+)\.mcp\.yao$/;
const OFFERS = ["tools", "resources", "prompts"] as const;

/** The servers of a folder; those with errors are left out. */
export function loadMcpServers(loading: Loading, home: Home): readonly McpServerFile[] {
  const folder = `${home.base}mcps`;
  const mappings = new MappingReader(loading, home);
  const servers = loading.paths.under(folder).flatMap((path) => {
    const dotless = SERVER_FILE.exec(path.slice(folder.length + 1))?.[1];
    if (dotless === undefined) return [];
    const id = loading.ids.mcpServers.claim(path, dotless, home.prefix);
    const server = id === undefined ? undefined : readServer({ loading, home, mappings }, { id, path, dotless });
    return server === undefined ? [] : [server];
  });
  mappings.reportStray();
  return servers;
}

interface ServerContext {
  readonly loading: Loading;
  readonly home: Home;
  readonly mappings: MappingReader;
}

interface ServerPlace {
  readonly id: string;
  readonly path: string;
  /** Path of the server inside `mcps/`, without the ending. */
  readonly dotless: string;
}

function readServer({ loading, home, mappings }: ServerContext, place: ServerPlace): McpServerFile | undefined {
  const { id, path, dotless } = place;
  const { source, log, roots } = loading;
  const root = source.json(path);
  if (root === undefined) return undefined;
  if (root.kind !== "object") {
    log.error(path, root.line, "a file of an MCP server must be an object");
    return undefined;
  }
  const errorsBefore = log.errorCount;
  const isGood = checkRoot({ file: path, log }, root, MCP_SHAPE);
  const plain = plainObject(root);
  const where = typeof plain["mapping"] === "string" ? plain["mapping"].replaceAll(".", "/") : `mapping/${dotless}`;
  const mapping = mappings.read(where);
  if (!isGood) return undefined;
  checkTransport(log, path, root);
  if (mapping === undefined || log.errorCount > errorsBefore) return undefined;
  roots.set(path, root);
  const { mapping: _, $schema: __, ...fields } = plain;
  const owner = home.assistantId === undefined ? {} : { assistantId: home.assistantId };
  // Checked against the shape above, which has the same fields.
  const known = knownFields(fields) as Omit<McpServerFile, "id" | "path" | "mapping">;
  return { ...known, id, path, ...owner, mapping };
}

function knownFields(fields: JsonObject): JsonObject {
  const entries = Object.entries(fields).filter(([key, value]) => {
    const field = Object.hasOwn(MCP_SHAPE.fields, key) ? MCP_SHAPE.fields[key] : undefined;
    return field !== undefined && field.legacy === undefined && value !== null;
  });
  return Object.fromEntries(entries);
}

function checkTransport(log: ProblemLog, path: string, root: SourceObject): void {
  const plain = plainObject(root);
  const lineOf = (key: string): number => entryOf(root, key)?.line ?? root.line;
  const textAt = (key: string): string => (typeof plain[key] === "string" ? plain[key].trim() : "");
  const transport = textAt("transport");
  if (transport === "process") {
    if (!OFFERS.some((key) => isObject(plain[key])))
      log.warn(path, root.line, "the server offers nothing: it has neither tools nor resources nor prompts");
  } else {
    for (const key of OFFERS) {
      if (isObject(plain[key])) log.note(path, lineOf(key), `${key} is not read: a ${transport} server lists its own`);
    }
  }
  if (transport === "stdio" && textAt("command") === "")
    log.error(path, root.line, "command is missing: say which program to start");
  if (transport === "http" || transport === "sse") {
    const fault = urlFault(textAt("url"));
    if (fault !== undefined) log.error(path, lineOf("url"), fault);
  }
  const token = textAt("authorization_token");
  if (token !== "" && !token.includes("$ENV.")) {
    const message = "authorization_token is written in the file; put it in $ENV.NAME, so that it stays out of the app";
    log.warn(path, lineOf("authorization_token"), message);
  }
  const timeout = textAt("timeout");
  if (timeout !== "" && !((parseDuration(timeout) ?? 0) > 0)) {
    log.error(
      path,
      lineOf("timeout"),
      `timeout must be a duration such as 30s, not ${JSON.stringify(timeout.slice(0, 40))}`,
    );
  }
}

function urlFault(url: string): string | undefined {
  if (url === "") return "url is missing: say where the server is";
  if (url.includes("$ENV.")) return undefined;
  const protocol = URL.canParse(url) ? new URL(url).protocol : "";
  return protocol === "http:" || protocol === "https:"
    ? undefined
    : "url must be an address such as https://example.com/mcp";
}
