/**
 * A tiny process that outlives a killed owner just long enough to stop the server. It reads from a pipe only the owner
 * writes to: a line means the server has ended properly; the end of the pipe means the owner is gone.
 */

import { spawn } from "node:child_process";

/** A running guard. Releasing twice is harmless. */
export interface Guard {
  /** The server has ended: nothing to watch any more. */
  release(): void;
}

// Fast shutdown, after 10 s immediate, after 15 s kill; the same steps an owner takes.
const SCRIPT = `
read -r line && exit 0
kill -INT "$1" 2>/dev/null || exit 0
i=0
while kill -0 "$1" 2>/dev/null; do
  i=$((i + 1))
  [ "$i" -eq 100 ] && kill -QUIT "$1"
  [ "$i" -ge 150 ] && exec kill -KILL "$1"
  sleep 0.1
done
`;

/** Watches over the server with this pid for as long as this process lives. */
export function guardServer(pid: number): Guard {
  const child = spawn("/bin/sh", ["-c", SCRIPT, "yao-postgres-guard", String(pid)], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    stdio: ["pipe", "ignore", "ignore"],
    // A session of its own: Ctrl-C at the terminal is for the owner to act on.
    detached: true,
  });
  child.unref();
  // A guard that could not start or was killed leaves the server to the next start, which stops leftovers.
  child.on("error", () => undefined);
  child.stdin.on("error", () => undefined);
  return { release: () => child.stdin.end("ended\n") };
}
