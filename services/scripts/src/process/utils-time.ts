/** `utils.now.*`: the current time as text and as numbers, from the clock handed in. */

import type { Clock } from "@mesh/kernel";

import type { ProcessFunction } from "./process-group.ts";

/** Functions of `utils.now`; texts are in `timeZone`. */
export function nowFunctions(clock: Pick<Clock, "now">, timeZone: string): Readonly<Record<string, ProcessFunction>> {
  // Swedish writes dates as ISO 8601 does.
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });
  const parts = (): string[] => format.format(clock.now()).split(" ");
  return {
    "now.Date": () => parts()[0],
    "now.Time": () => parts()[1],
    "now.DateTime": () => parts().join(" "),
    "now.Timestamp": () => Math.floor(clock.now() / 1000),
    "now.Timestampms": () => clock.now(),
  };
}
