// Preloaded into every process of a contender: at its end it tells what it used.
const { appendFileSync } = require("node:fs");

process.on("exit", () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  const row = { rssMb: maxRSS / 1024, cpuS: (userCPUTime + systemCPUTime) / 1e6 };
  appendFileSync(process.env.YAO_BENCH_PROBE, `${JSON.stringify(row)}\n`);
});
