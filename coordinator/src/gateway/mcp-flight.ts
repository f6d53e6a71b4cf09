/**
 * The MCP requests that are being answered, so that their client can cancel one by its id.
 *
 * A client says "cancel request 3" in a request of its own. Ids are unique only within a client's session, so a cancellation
 * counts for the session that it names and the token that it comes with.
 */

import { MeshError } from "@mesh/kernel";

/** Whose requests these are. */
export interface FlightOwner {
  readonly tokenId: string;
  readonly session: string;
}

type RequestId = string | number;

/** All of them. */
export class McpFlights {
  readonly #open = new Map<string, AbortController>();

  /** Number of requests that could be cancelled. */
  get size(): number {
    return this.#open.size;
  }

  /** Notes requests that came together; the signal aborts when one of them is cancelled. Call `leave` at their end. */
  enter(owner: FlightOwner, ids: readonly RequestId[]): { readonly signal: AbortSignal; readonly leave: () => void } {
    const controller = new AbortController();
    const keys = ids.map((id) => keyOf(owner, id));
    for (const key of keys) this.#open.set(key, controller);
    return {
      signal: controller.signal,
      leave: () => {
        for (const key of keys) if (this.#open.get(key) === controller) this.#open.delete(key);
      },
    };
  }

  /** Cancels a request; one that has ended, or is another's, is not found and that is all. */
  cancel(owner: FlightOwner, id: RequestId): void {
    this.#open.get(keyOf(owner, id))?.abort(new MeshError("cancelled", "the client has cancelled the request"));
  }
}

function keyOf({ tokenId, session }: FlightOwner, id: RequestId): string {
  return JSON.stringify([tokenId, session, id]);
}
