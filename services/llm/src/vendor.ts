/**
 * The servers we know: address, key variables and how each departs from the protocol it imitates. Data, not code: a new
 * vendor is a row.
 */

import type { ApiProtocol } from "./message.ts";
import type { AnthropicCompat, ModelConfig, OpenAiCompat } from "./provider.ts";

/** One row of the table. */
export interface Vendor {
  readonly api: ApiProtocol;
  readonly baseUrl?: string;
  /** Environment variables that may hold the key, best first; empty when none is needed. */
  readonly keyEnv: readonly string[];
  readonly compat?: OpenAiCompat;
  /** Tokens, for models that say nothing themselves. */
  readonly contextWindow?: number;
  readonly maxTokens?: number;
}

const CHAT = "openai-completions";

/** Vendors by name. */
export const VENDORS: Readonly<Record<string, Vendor | undefined>> = {
  anthropic: {
    api: "anthropic-messages",
    baseUrl: "https://api.anthropic.com",
    keyEnv: ["ANTHROPIC_API_KEY"],
    contextWindow: 200_000,
    maxTokens: 16_384,
  },
  openai: {
    api: CHAT,
    baseUrl: "https://api.openai.com/v1",
    keyEnv: ["OPENAI_API_KEY"],
    contextWindow: 128_000,
    maxTokens: 4096,
    compat: {
      developerRole: true,
      reasoningEffort: true,
      maxTokensField: "max_completion_tokens",
      promptCacheKey: true,
    },
  },
  azure: { api: "azure-openai-responses", keyEnv: ["AZURE_OPENAI_API_KEY"], contextWindow: 128_000, maxTokens: 16_384 },
  google: {
    api: "google-generative-ai",
    baseUrl: "https://generativelanguage.googleapis.com",
    keyEnv: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    contextWindow: 1_000_000,
    maxTokens: 8192,
  },
  vertex: { api: "google-vertex", keyEnv: [], contextWindow: 1_000_000, maxTokens: 8192 },
  // Reads its own variables per request: a key for another service must never be sent to AWS.
  bedrock: { api: "bedrock-converse-stream", keyEnv: [], contextWindow: 200_000, maxTokens: 8192 },
  xai: {
    api: CHAT,
    baseUrl: "https://api.x.ai/v1",
    keyEnv: ["XAI_API_KEY"],
    contextWindow: 131_072,
    compat: { reasoningEffort: true },
  },
  groq: {
    api: CHAT,
    baseUrl: "https://api.groq.com/openai/v1",
    keyEnv: ["GROQ_API_KEY"],
    contextWindow: 131_072,
    compat: { reasoningEffort: true, maxTokensField: "max_completion_tokens" },
  },
  together: { api: CHAT, baseUrl: "https://api.together.xyz/v1", keyEnv: ["TOGETHER_API_KEY"] },
  fireworks: {
    api: CHAT,
    baseUrl: "https://api.fireworks.ai/inference/v1",
    keyEnv: ["FIREWORKS_API_KEY"],
    compat: { reasoningEffort: true },
  },
  deepseek: {
    api: CHAT,
    baseUrl: "https://api.deepseek.com",
    keyEnv: ["DEEPSEEK_API_KEY"],
    contextWindow: 1_000_000,
    maxTokens: 384_000,
    compat: { thinkingFormat: "deepseek", replayReasoning: "reasoning_content", jsonSchema: false },
  },
  mistral: {
    api: CHAT,
    baseUrl: "https://api.mistral.ai/v1",
    keyEnv: ["MISTRAL_API_KEY"],
    contextWindow: 128_000,
    compat: {
      usageInStream: false,
      toolResultName: true,
      assistantAfterToolResult: true,
      toolCallIds: "nine-alphanumeric",
    },
  },
  zai: {
    api: CHAT,
    baseUrl: "https://api.z.ai/api/paas/v4",
    keyEnv: ["ZAI_API_KEY"],
    contextWindow: 200_000,
    compat: { thinkingFormat: "zai", replayReasoning: "reasoning_content", jsonSchema: false },
  },
  minimax: {
    api: CHAT,
    baseUrl: "https://api.minimaxi.chat/v1",
    keyEnv: ["MINIMAX_API_KEY"],
    contextWindow: 200_000,
    compat: { jsonSchema: false },
  },
  moonshot: {
    api: CHAT,
    baseUrl: "https://api.moonshot.ai/v1",
    keyEnv: ["MOONSHOT_API_KEY"],
    contextWindow: 256_000,
    compat: { replayReasoning: "reasoning_content", jsonSchema: false },
  },
  qwen: {
    api: CHAT,
    baseUrl: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    keyEnv: ["DASHSCOPE_API_KEY"],
    contextWindow: 131_072,
    compat: { thinkingFormat: "qwen" },
  },
  volcengine: {
    api: CHAT,
    baseUrl: "https://ark.cn-beijing.volces.com/api/v3",
    keyEnv: ["ARK_API_KEY"],
    contextWindow: 256_000,
    compat: { thinkingFormat: "zai", replayReasoning: "reasoning_content", jsonSchema: false },
  },
  siliconflow: {
    api: CHAT,
    baseUrl: "https://api.siliconflow.cn/v1",
    keyEnv: ["SILICONFLOW_API_KEY"],
    compat: { thinkingFormat: "qwen", jsonSchema: false },
  },
  meta: { api: CHAT, baseUrl: "https://api.meta.ai/v1", keyEnv: ["META_API_KEY", "MODEL_API_KEY"] },
  openrouter: {
    api: CHAT,
    baseUrl: "https://openrouter.ai/api/v1",
    keyEnv: ["OPENROUTER_API_KEY"],
    compat: { thinkingFormat: "openrouter", replayReasoning: "reasoning_details", cacheControl: true },
  },
  cerebras: {
    api: CHAT,
    baseUrl: "https://api.cerebras.ai/v1",
    keyEnv: ["CEREBRAS_API_KEY"],
    contextWindow: 131_072,
    compat: { reasoningEffort: true, maxTokensField: "max_completion_tokens" },
  },
  nvidia: {
    api: CHAT,
    baseUrl: "https://integrate.api.nvidia.com/v1",
    keyEnv: ["NVIDIA_API_KEY"],
    compat: { usageInStream: false, thinkingFormat: "chat-template" },
  },
  perplexity: { api: CHAT, baseUrl: "https://api.perplexity.ai", keyEnv: ["PERPLEXITY_API_KEY"] },
  "opencode-zen": { api: CHAT, baseUrl: "https://opencode.ai/zen/v1", keyEnv: ["OPENCODE_API_KEY"] },
  "opencode-go": { api: CHAT, baseUrl: "https://opencode.ai/zen/go/v1", keyEnv: ["OPENCODE_API_KEY"] },
  ollama: {
    api: CHAT,
    baseUrl: "http://localhost:11434/v1",
    keyEnv: [],
    compat: { assistantAfterToolResult: true },
  },
  lmstudio: { api: CHAT, baseUrl: "http://localhost:1234/v1", keyEnv: [] },
  vllm: {
    api: CHAT,
    baseUrl: "http://localhost:8000/v1",
    keyEnv: [],
    compat: { thinkingFormat: "chat-template" },
  },
  local: { api: CHAT, baseUrl: "http://localhost:8080/v1", keyEnv: [] },
  demo: { api: "demo", keyEnv: [], contextWindow: 128_000, maxTokens: 8192 },
};

/** Names of all known vendors. */
export function vendorNames(): readonly string[] {
  return Object.keys(VENDORS);
}

/** The vendor whose address a URL is, by host name. */
export function vendorOfUrl(url: string): string | undefined {
  const host = URL.canParse(url) ? new URL(url).hostname : "";
  if (host === "" || host === "localhost") return undefined;
  // Regional and mirror hosts of one vendor share the registered domain.
  const domain = DOMAINS.find(([suffix]) => host === suffix || host.endsWith(`.${suffix}`));
  return domain?.[1];
}

const DOMAINS: readonly (readonly [string, string])[] = [
  ["anthropic.com", "anthropic"],
  ["openai.azure.com", "azure"],
  ["openai.com", "openai"],
  ["generativelanguage.googleapis.com", "google"],
  ["aiplatform.googleapis.com", "vertex"],
  ["x.ai", "xai"],
  ["groq.com", "groq"],
  ["together.xyz", "together"],
  ["together.ai", "together"],
  ["fireworks.ai", "fireworks"],
  ["deepseek.com", "deepseek"],
  ["mistral.ai", "mistral"],
  ["z.ai", "zai"],
  ["bigmodel.cn", "zai"],
  ["minimaxi.chat", "minimax"],
  ["minimaxi.com", "minimax"],
  ["minimax.io", "minimax"],
  ["moonshot.ai", "moonshot"],
  ["moonshot.cn", "moonshot"],
  ["aliyuncs.com", "qwen"],
  ["volces.com", "volcengine"],
  ["siliconflow.cn", "siliconflow"],
  ["siliconflow.com", "siliconflow"],
  ["meta.ai", "meta"],
  ["openrouter.ai", "openrouter"],
  ["cerebras.ai", "cerebras"],
  ["nvidia.com", "nvidia"],
  ["perplexity.ai", "perplexity"],
  ["opencode.ai", "opencode-zen"],
];

/** How the server of a chat model behaves: the vendor's row under the model's own flags. */
export function openAiCompatOf(model: ModelConfig): OpenAiCompat {
  const byUrl = model.baseUrl === undefined ? undefined : vendorOfUrl(model.baseUrl);
  // A row whose protocol is another says nothing about its OpenAI-compatible address, except OpenAI's own.
  const vendor = VENDORS[model.provider] ?? (byUrl === undefined ? undefined : VENDORS[byUrl]);
  return { ...vendor?.compat, ...model.compat?.openai };
}

/** How a Claude model takes thinking and structured output, from its id. */
export function anthropicCompatOf(id: string): AnthropicCompat {
  const version = /claude-(?:[a-z]+-)?(\d+)(?:[-.](\d{1,2})(?!\d))?/.exec(id);
  if (version === null) return {};
  const number = Number(version[1]) + Number(version[2] ?? 0) / 100;
  return { adaptiveThinking: number >= 4.06, nativeStructuredOutput: number >= 4.05 };
}

/** Whether an OpenAI model reasons, from its id. */
export function openAiIdReasons(id: string): boolean {
  return !/^(gpt-[34]|chatgpt-)|-chat/.test(id);
}

/** The key for a provider out of environment variables; undefined when none is set. */
export function envKey(
  provider: string,
  api: ApiProtocol,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (api === "bedrock-converse-stream" || api === "demo") return undefined;
  const names = VENDORS[provider]?.keyEnv ?? ["LLM_API_KEY", "API_KEY"];
  for (const name of names) {
    const value = env[name]?.trim() ?? "";
    if (value !== "") return value;
  }
  return undefined;
}
