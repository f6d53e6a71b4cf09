/** Numbers about this process in the Prometheus text format. Names start with `yao_`, times are in seconds. */

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

import { MeshError } from "@mesh/kernel";

/** Values of a metric's labels, by label name. */
export type Labels = Readonly<Record<string, string>>;

/** A number that only grows. */
export interface CounterMetric {
  inc(labels?: Labels, by?: number): void;
}

/** A number that goes up and down. */
export interface GaugeMetric {
  set(value: number, labels?: Labels): void;
}

/** A distribution, counted in buckets. */
export interface HistogramMetric {
  observe(value: number, labels?: Labels): void;
}

/** Optional parts of a gauge. */
export interface GaugeOptions {
  readonly labels?: readonly string[];
  /** Called before each rendering, to set the current value. */
  readonly collect?: (gauge: GaugeMetric) => void | Promise<void>;
}

/** Optional parts of a histogram. */
export interface HistogramOptions {
  readonly labels?: readonly string[];
  /** Upper bounds; default: 1 ms to 10 s. */
  readonly buckets?: readonly number[];
}

/** The metrics of one process. */
export interface Metrics {
  /** Media type of {@link Metrics.render}. */
  readonly contentType: string;
  counter(name: string, help: string, labels?: readonly string[]): CounterMetric;
  gauge(name: string, help: string, options?: GaugeOptions): GaugeMetric;
  histogram(name: string, help: string, options?: HistogramOptions): HistogramMetric;
  render(): Promise<string>;
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** Makes an empty registry; unless told otherwise it also reports memory, CPU and event loop of the process. */
export function createMetrics(options: { readonly processMetrics?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (options.processMetrics !== false) collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    contentType: registry.contentType,
    counter(name, help, labels = []) {
      const counter = new Counter({ name: checked(name, "_total"), help, labelNames: [...labels], registers });
      return { inc: (values = {}, by = 1) => counter.inc({ ...values }, by) };
    },
    gauge(name, help, { labels = [], collect } = {}) {
      const gauge = new Gauge({
        name: checked(name, ""),
        help,
        labelNames: [...labels],
        registers,
        ...(collect === undefined ? {} : { collect: () => collect(metric) }),
      });
      const metric: GaugeMetric = { set: (value, values = {}) => gauge.set({ ...values }, value) };
      return metric;
    },
    histogram(name, help, { labels = [], buckets = SECONDS } = {}) {
      const config = { name: checked(name, ""), help, labelNames: [...labels], buckets: [...buckets], registers };
      const histogram = new Histogram(config);
      return { observe: (value, values = {}) => histogram.observe({ ...values }, value) };
    },
    render: () => registry.metrics(),
  };
}

function checked(name: string, ending: string): string {
  if (/^yao_[a-z][a-z0-9_]*$/.test(name) && name.endsWith(ending)) return name;
  throw new MeshError("internal", `metric ${name} must be named yao_…${ending} in lower case`);
}
