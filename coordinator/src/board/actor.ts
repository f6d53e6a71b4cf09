/** Who acts. Pure. */

/** The actor when nobody does: a schedule, a retry, a dependency. */
export const SYSTEM = "system";

/** The name of an actor as people see it. */
export function nameOf(actor: string): string {
  return actor.startsWith("user:") ? actor.slice("user:".length) : actor;
}
