/** The one run socket of this tab. */

import { browserClock } from "../app/clock.ts";
import { RunSocket } from "./run-socket.ts";

/** Follows runs. */
export const runSocket = new RunSocket({
  clock: browserClock,
  fetch: (path, init) => fetch(path, init),
  connect: (path) => new WebSocket(new URL(path, location.href.replace(/^http/, "ws"))),
});

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") runSocket.wake();
});
window.addEventListener("online", () => runSocket.wake());
