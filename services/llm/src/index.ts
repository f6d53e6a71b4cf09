export type { Connector } from "./connector.ts";
export { BUNDLED_PRICES } from "./bundled-prices.ts";
export { type ConnectorModel, connectorModel, protocolOf, withOptions } from "./connector-model.ts";
export { describeModel } from "./describe-model.ts";
export {
  addUsage,
  API_PROTOCOLS,
  type ApiProtocol,
  type AssistantMessage,
  type Content,
  type ImageContent,
  type InputContent,
  type MalformedCall,
  type Message,
  NO_USAGE,
  type StopReason,
  type TextContent,
  textContent,
  textOf,
  type ThinkingContent,
  type ToolCallContent,
  toolCallsOf,
  type ToolResultMessage,
  type Usage,
  type UserMessage,
} from "./message.ts";
export {
  type AnthropicCompat,
  type CacheConfig,
  type GoogleCompat,
  type ModelConfig,
  type ModelCost,
  type OpenAiCompat,
  ProviderRegistry,
  type Rates,
  type ResponseFormat,
  type RetryConfig,
  type StreamConfig,
  type StreamEvent,
  type StreamProvider,
  type StreamSink,
  type ThinkingLevel,
  type Timeouts,
  type ToolChoice,
  type ToolDefinition,
} from "./provider.ts";
export {
  fetchPrices,
  type LivePrices,
  type LivePricesDeps,
  type MappedPrices,
  MODELS_DEV,
  modelsDevPrices,
} from "./live-prices.ts";
export { type LanguageModelLike, languageModelProvider } from "./language-model.ts";
export { costUsd, PriceBook, type PriceTable, ratesFor, type ReadPrices, readPriceTable } from "./price-book.ts";
export { createProviders } from "./providers.ts";
export { type ConnectorTest, type ConnectorTestDeps, testConnector } from "./test-connector.ts";
export { type ErrorClass, ProviderError, type ProviderErrorInit } from "./provider-error.ts";
export { faultOf, isOverflowText, OVERFLOW_PHRASES, retryAfterMs } from "./provider-failure.ts";
export { DEFAULT_RETRY, type RetriedCall, type RetryDeps, streamWithRetry } from "./stream-with-retry.ts";
export { MISSING_RESULT, soundTranscript } from "./transcript.ts";
export {
  anthropicCompatOf,
  envKey,
  openAiCompatOf,
  openAiIdReasons,
  type Vendor,
  vendorNames,
  vendorOfUrl,
  VENDORS,
} from "./vendor.ts";
export { DEFAULT_TIMEOUTS } from "./watchdog.ts";
export type { Env, ProviderDeps } from "./wire.ts";
