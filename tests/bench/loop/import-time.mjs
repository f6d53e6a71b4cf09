/** Prints how long importing one file takes in this fresh process: milliseconds, and processor milliseconds. */

const cpuBefore = process.cpuUsage();
const startMs = performance.now();
await import(process.argv[2]);
const wallMs = performance.now() - startMs;
const { user, system } = process.cpuUsage(cpuBefore);
console.log(JSON.stringify({ wallMs, cpuMs: (user + system) / 1000 }));
