/** The standard registry for tests: fixed time, predictable randomness, an HTTP client that reaches nothing. */

import { MemoryStore } from "./memory-store.ts";
import type { ProcessRegistry } from "../process-registry.ts";
import { type StandardProcessDeps, standardProcesses } from "../standard-processes.ts";

/** 2026-03-04 05:06:07.890 UTC. */
export const NOW: number = Date.UTC(2026, 2, 4, 5, 6, 7, 890);

/** A registry with a memory store; parts of its dependencies may be replaced. */
export function standardFor(deps: Partial<StandardProcessDeps> = {}): ProcessRegistry {
  const clock = deps.clock ?? { now: () => NOW };
  const unreachable = (): Promise<never> => Promise.reject(new Error("this test sends no request"));
  return standardProcesses({
    clock,
    env: (scope, name) => (name === "REGION" ? `region of ${scope.workspaceId}` : undefined),
    http: { send: unreachable, stream: unreachable },
    stores: new MemoryStore(clock),
    randomBytes: (size) => Uint8Array.from({ length: size }, (_, index) => index),
    ...deps,
  });
}
