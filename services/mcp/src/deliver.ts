/** Hands received messages to the SDK in an order it keeps. */

import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

/**
 * The SDK handles a notification one microtask after it was given it, an answer at once: progress that arrives together with the
 * answer would be lost. So everything but notifications waits for a microtask here.
 */
export function deliver(to: Pick<Transport, "onmessage">, message: JSONRPCMessage): void {
  if ("id" in message) queueMicrotask(() => to.onmessage?.(message));
  else to.onmessage?.(message);
}
