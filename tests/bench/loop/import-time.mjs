/** Prints how long importing one contender takes in this fresh process: milliseconds, and processor milliseconds. */

const cpuBefore = process.cpuUsage();
const startMs = performance.now();
await import(`./contender/${process.argv[2]}.mjs`);
const wallMs = performance.now() - startMs;
const { user, system } = process.cpuUsage(cpuBefore);
console.log(JSON.stringify({ wallMs, cpuMs: (user + system) / 1000 }));
