/** The kinds of configuration files of an app, for those who publish or use their schemas. */

import { CONNECTOR_SHAPE } from "./connector-shape.ts";
import { MCP_SHAPE, PROMPT_TEMPLATE_SHAPE, RESOURCE_SHAPE, TOOL_INPUT_SHAPE, TOOL_OUTPUT_SHAPE } from "./mcp-shape.ts";
import { MODEL_SHAPE } from "./model-shape.ts";
import { PACKAGE_SHAPE } from "./package-shape.ts";
import { SANDBOX_SHAPE } from "./sandbox-shape.ts";
import { SEARCH_SHAPE } from "./search-shape.ts";
import { AGENT_SHAPE, KNOWLEDGE_SHAPE, PROMPT_SHAPE } from "./settings-shape.ts";
import { listOf, type Shape } from "./shape.ts";

/** One kind of file: where it stands and what it may hold. */
export interface ConfigKind {
  /** Name of its schema: docs/schemas/NAME.schema.json. */
  readonly name: string;
  /** Which paths of an app are files of this kind. */
  readonly path: RegExp;
  /** The same for editors. */
  readonly glob: string;
  readonly title: string;
  readonly doc: string;
  readonly shape: Shape;
}

/** All kinds. */
export const CONFIG_KINDS: readonly ConfigKind[] = [
  {
    name: "package.yao",
    path: /^assistants\/.+\/package\.yao$/,
    glob: "assistants/**/package.yao",
    title: "package.yao",
    doc: "The configuration of one assistant.",
    shape: PACKAGE_SHAPE,
  },
  {
    name: "prompts.yml",
    path: /^(?:agent\/prompts|assistants\/.+\/(?:prompts|prompts\/.+))\.yml$/,
    glob: "**/prompts.yml",
    title: "prompts.yml",
    doc: "The prompts of one assistant, one of its presets, or those of all assistants.",
    shape: listOf(PROMPT_SHAPE),
  },
  {
    name: "mcp.yao",
    path: /^(?:assistants\/.+\/)?mcps\/.+\.mcp\.yao$/,
    glob: "**/mcps/**/*.mcp.yao",
    title: "*.mcp.yao",
    doc: "One MCP server.",
    shape: MCP_SHAPE,
  },
  {
    name: "in.yao",
    path: /^(?:assistants\/.+\/)?(?:mcps\/)?mapping\/.+\.in\.yao$/,
    glob: "**/mapping/**/schemes/*.in.yao",
    title: "*.in.yao",
    doc: "What a tool takes.",
    shape: TOOL_INPUT_SHAPE,
  },
  {
    name: "out.yao",
    path: /^(?:assistants\/.+\/)?(?:mcps\/)?mapping\/.+\.out\.yao$/,
    glob: "**/mapping/**/schemes/*.out.yao",
    title: "*.out.yao",
    doc: "What a tool gives.",
    shape: TOOL_OUTPUT_SHAPE,
  },
  {
    name: "res.yao",
    path: /^(?:assistants\/.+\/)?(?:mcps\/)?mapping\/.+\.res\.yao$/,
    glob: "**/mapping/**/resources/*.res.yao",
    title: "*.res.yao",
    doc: "One resource of an MCP server.",
    shape: RESOURCE_SHAPE,
  },
  {
    name: "pmt.yao",
    path: /^(?:assistants\/.+\/)?(?:mcps\/)?mapping\/.+\.pmt\.yao$/,
    glob: "**/mapping/**/prompts/*.pmt.yao",
    title: "*.pmt.yao",
    doc: "One prompt of an MCP server.",
    shape: PROMPT_TEMPLATE_SHAPE,
  },
  {
    name: "conn.yao",
    path: /^connectors\/.+\.yao$/,
    glob: "connectors/**/*.yao",
    title: "*.conn.yao",
    doc: "How assistants reach one model.",
    shape: CONNECTOR_SHAPE,
  },
  {
    name: "mod.yao",
    path: /^(?:assistants\/.+\/)?models\/.+\.mod\.yao$/,
    glob: "**/models/**/*.mod.yao",
    title: "*.mod.yao",
    doc: "One data model.",
    shape: MODEL_SHAPE,
  },
  {
    name: "agent.yml",
    path: /^agent\/agent\.yml$/,
    glob: "agent/agent.yml",
    title: "agent.yml",
    doc: "The settings of all assistants of an app.",
    shape: AGENT_SHAPE,
  },
  {
    name: "kb.yml",
    path: /^agent\/kb\.yml$/,
    glob: "agent/kb.yml",
    title: "kb.yml",
    doc: "How knowledge is kept.",
    shape: KNOWLEDGE_SHAPE,
  },
  {
    name: "search.yml",
    path: /^agent\/search\.yml$/,
    glob: "agent/search.yml",
    title: "search.yml",
    doc: "How assistants search, unless their package.yao says otherwise.",
    shape: SEARCH_SHAPE,
  },
  {
    name: "sandbox.yao",
    path: /^assistants\/.+\/sandbox\.yao$/,
    glob: "assistants/**/sandbox.yao",
    title: "sandbox.yao",
    doc: "The computer of an assistant.",
    shape: SANDBOX_SHAPE,
  },
];
