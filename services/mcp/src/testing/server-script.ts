/** Small MCP servers as programs, to be as bad as a test needs: plain JavaScript for `node -e`. */

import type { McpServerConfig } from "../server-config.ts";

/**
 * A server whose tools are the functions of `tools` (source text), each called as `(args, id, send)`; what they return is sent as
 * text unless it is undefined. `before` runs first.
 */
export function scriptServer(
  id: string,
  tools: Readonly<Record<string, string>>,
  before = "",
): McpServerConfig & { readonly arguments: readonly string[] } {
  const table = Object.entries(tools).map(([name, source]) => `${JSON.stringify(name)}: ${source}`);
  const program = `
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    const tools = { ${table.join(",\n")} };
    ${before}
    require("node:readline").createInterface({ input: process.stdin }).on("line", async (line) => {
      const message = JSON.parse(line);
      const { id, method, params } = message;
      if (method === "initialize") {
        const result = { protocolVersion: "2025-06-18", capabilities: { tools: { listChanged: true } }, serverInfo: { name: "script", version: "1" } };
        send({ id, result });
      } else if (method === "tools/list") {
        send({ id, result: { tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" } })) } });
      } else if (method === "tools/call") {
        const value = await tools[params.name](params.arguments, id, send, params);
        if (value !== undefined) send({ id, result: { content: [{ type: "text", text: String(value) }] } });
      } else if (globalThis.other) {
        globalThis.other(message);
      }
    });
  `;
  return { id, transport: "stdio", command: process.execPath, arguments: ["-e", program] };
}
