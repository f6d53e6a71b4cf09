import { MeshError } from "@mesh/kernel";
import { expect, test } from "vitest";

import { createMetrics } from "./metric.ts";

test("counters, gauges and histograms are rendered in the Prometheus text format", async () => {
  const metrics = createMetrics({ processMetrics: false });
  const runs = metrics.counter("yao_runs_total", "Runs by outcome.", ["outcome"]);
  runs.inc({ outcome: "succeeded" });
  runs.inc({ outcome: "succeeded" }, 2);
  metrics.gauge("yao_nodes_online", "Nodes online.").set(4);
  metrics.histogram("yao_dispatch_seconds", "Time to dispatch.", { buckets: [0.1, 1] }).observe(0.5);
  const text = await metrics.render();
  expect(text).toContain("# TYPE yao_runs_total counter");
  expect(text).toContain('yao_runs_total{outcome="succeeded"} 3');
  expect(text).toContain("yao_nodes_online 4");
  expect(text).toContain('yao_dispatch_seconds_bucket{le="0.1"} 0');
  expect(text).toContain('yao_dispatch_seconds_bucket{le="1"} 1');
  expect(metrics.contentType).toContain("text/plain");
});

test("a gauge may be filled when it is read", async () => {
  const metrics = createMetrics({ processMetrics: false });
  let depth = 1;
  metrics.gauge("yao_queue_depth", "Queued runs.", { collect: (gauge) => gauge.set(depth) });
  depth = 9;
  expect(await metrics.render()).toContain("yao_queue_depth 9");
});

test("process metrics are there unless left out", async () => {
  expect(await createMetrics().render()).toContain("process_resident_memory_bytes");
});

test("a name outside the convention, or used twice, is refused", () => {
  const metrics = createMetrics({ processMetrics: false });
  expect(() => metrics.counter("runs_total", "x")).toThrow(MeshError);
  expect(() => metrics.counter("yao_runs", "x")).toThrow("yao_…_total");
  metrics.gauge("yao_x", "x");
  expect(() => metrics.gauge("yao_x", "x")).toThrow("already");
});
