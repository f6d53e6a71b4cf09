export { errorFields, type ErrorFields } from "./error-fields.ts";
export {
  createLogger,
  LOG_LEVELS,
  type LogDestination,
  type Logger,
  type LoggerOptions,
  type LogLevel,
  silentLogger,
} from "./logger.ts";
export {
  type CounterMetric,
  createMetrics,
  type GaugeMetric,
  type GaugeOptions,
  type HistogramMetric,
  type HistogramOptions,
  type Labels,
  type Metrics,
} from "./metric.ts";
export { CENSORED, isSecretName, redactFields, scrubText } from "./redact.ts";
export { childSpan, formatTraceparent, newTrace, parseTraceparent, type Trace } from "./trace.ts";
