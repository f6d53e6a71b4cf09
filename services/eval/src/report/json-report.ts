/** The report as one JSON document, written element by element. */

import { rfc3339 } from "@mesh/kernel";

import { DeviceTally } from "../stat/device-tally.ts";
import type { CaseTally } from "../stat/tally.ts";
import { type ReportForm, type ReportSource, resultsOf, runsOf, tallyOf } from "./report-source.ts";
import { resultBytes } from "./result-bytes.ts";

/** See the file comment. */
export const jsonReport: ReportForm = async (source, write) => {
  const { start, summary } = source;
  const about = { agent_id: start.agent_id, agent_path: start.agent_path, connector: start.connector };
  write(`{\n"summary": ${JSON.stringify({ ...about, ...summary }, null, 2)},\n`);
  write(`"environment": ${JSON.stringify(start.environment, null, 2)},\n"results": [`);
  let separator = "\n";
  for await (const result of resultBytes(source.log)) {
    write(separator);
    write(result);
    separator = ",\n";
  }
  write("\n],\n");
  // Of one machine nothing is told about devices, so its results need not be read again.
  const devices = start.eval_id === undefined ? [] : await devicesOf(source);
  if (devices.length > 0) write(`"devices": ${JSON.stringify(devices, null, 2)},\n`);
  if (runsOf(source) > 1) {
    write('"stability_results": [');
    separator = "\n";
    for (const tally of (await tallyOf(source)).cases()) {
      write(`${separator}${JSON.stringify(stabilityResult(tally))}`);
      separator = ",\n";
    }
    write("\n],\n");
  }
  const completed = rfc3339(Date.parse(start.timestamp) + summary.duration_ms);
  const { timestamp: started_at, version, input, suite } = start;
  write(`"metadata": ${JSON.stringify({ started_at, completed_at: completed, version, input, suite }, null, 2)}\n}\n`);
};

async function devicesOf(source: ReportSource): Promise<readonly object[]> {
  const tally = new DeviceTally();
  for await (const result of resultsOf(source)) tally.add(result);
  return tally.devices().map(({ rate, unjudged: _unjudged, ...counts }) => ({
    ...counts,
    pass_rate: rate === undefined ? null : rate * 100,
  }));
}

function stabilityResult(tally: CaseTally): object {
  const { id, runs, passed, failed, errors, timeouts, stability, avgMs, minMs, maxMs, stdMs } = tally;
  const { passRate, class: band, interval, isUndecided, passAt, passHat, scored } = stability;
  return {
    id,
    runs,
    passed,
    failed,
    errors,
    timeouts,
    scored,
    pass_rate: passRate === undefined ? null : passRate * 100,
    consistency: passRate ?? null,
    stable: band === "stable",
    stability_class: band ?? null,
    interval: interval === undefined ? null : { ...interval, n: scored, method: "wilson", level: 0.95 },
    undecided: isUndecided,
    pass_at_k: passAt,
    pass_hat_k: passHat,
    avg_duration_ms: Math.round(avgMs),
    min_duration_ms: Math.round(minMs),
    max_duration_ms: Math.round(maxMs),
    std_deviation_ms: Math.round(stdMs * 100) / 100,
  };
}
