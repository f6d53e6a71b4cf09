/** Preloaded into the coordinator by `--profile DIR`: leaves a CPU profile of its whole life there, for the developer tools of Chrome. */

"use strict";

const { writeFileSync } = require("node:fs");
const { Session } = require("node:inspector");

const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.start");
process.once("exit", () => {
  session.post("Profiler.stop", (error, result) => {
    if (error === null) {
      writeFileSync(`${process.env.BENCH_PROFILE_DIR}/${process.pid}.cpuprofile`, JSON.stringify(result.profile));
    }
  });
});
