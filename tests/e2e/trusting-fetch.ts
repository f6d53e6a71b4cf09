/** A fetch that trusts one certificate more than this process does: Node's own takes no authorities at run time. */

import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { Readable } from "node:stream";

const WITHOUT_BODY: readonly (number | undefined)[] = [204, 304];

/** `fetch` over HTTPS for the plain requests that tests make; `ca` is the PEM to trust. */
export function trustingFetch(ca: string): typeof fetch {
  return async (input, init = {}) => {
    const url = input instanceof Request ? input.url : input;
    const { method = "GET", body, signal } = init;
    const headers = Object.fromEntries(new Headers(init.headers));
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(url, { ca, method, headers, ...(signal ? { signal } : {}) }, resolve);
      sent.once("error", reject);
      sent.end(typeof body === "string" || body instanceof Uint8Array ? body : undefined);
    });
    const status = answer.statusCode ?? 0;
    if (WITHOUT_BODY.includes(status)) {
      answer.resume();
      return new Response(null, { status });
    }
    const stream = Readable.toWeb(answer) as ReadableStream<Uint8Array>;
    return new Response(stream, { status, headers: answer.headers as Record<string, string> });
  };
}
