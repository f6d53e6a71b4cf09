/**
 * Spans of a run: agent_loop > llm_stream per turn, tool per execution.
 *
 * The port is the part of `@opentelemetry/api`'s Tracer that the loop uses, so an application passes its tracer as it
 * is and the package depends on none.
 */

/** A value of a span attribute. */
export type SpanValue = string | number | boolean;

/** One timed piece of work. */
export interface Span {
  setAttribute(key: string, value: SpanValue): unknown;
  recordException?(exception: Error): void;
  end(): void;
}

/** Makes spans; an OpenTelemetry `Tracer` fits. */
export interface Tracer {
  startSpan(name: string, options?: { readonly attributes?: Record<string, SpanValue> }, context?: unknown): Span;
}

/** A tracer together with how a child span is tied to its parent (`trace.setSpan(context.active(), span)`). */
export interface Telemetry {
  readonly tracer: Tracer;
  readonly childContext?: (parent: Span) => unknown;
}

const SILENT: Span = { setAttribute: () => undefined, end: () => undefined };

/** Starts a span below `parent`, or one that does nothing when there is no telemetry. A failing tracer never fails a run. */
export function startSpan(
  telemetry: Telemetry | undefined,
  name: string,
  attributes: Record<string, SpanValue>,
  parent?: Span,
): Span {
  if (telemetry === undefined) return SILENT;
  try {
    const real = parent === undefined ? undefined : originals.get(parent);
    const context = real === undefined ? undefined : telemetry.childContext?.(real);
    return guarded(telemetry.tracer.startSpan(name, { attributes }, context));
  } catch {
    return SILENT;
  }
}

// A context must be made from the tracer's own span, which carries more than this port shows.
const originals = new WeakMap<Span, Span>();

function guarded(span: Span): Span {
  const attempt = (act: () => unknown): void => {
    try {
      act();
    } catch {
      // A broken exporter is the application's problem; the run goes on.
    }
  };
  const safe: Span = {
    setAttribute: (key, value) => attempt(() => span.setAttribute(key, value)),
    recordException: (error) => attempt(() => span.recordException?.(error)),
    end: () => attempt(() => span.end()),
  };
  originals.set(safe, span);
  return safe;
}
