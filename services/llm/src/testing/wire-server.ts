/** A `fetch` that answers with a fixture's bytes, cut in a chosen way. */

import type { WireCase } from "./wire-case.ts";

/** How a body is cut: at once, byte by byte, in small odd pieces, or with CRLF line ends. */
export type WireCut = "whole" | "bytes" | "pieces" | "crlf";

/** A fetch and what it saw. */
export interface WireServer {
  readonly fetch: typeof fetch;
  readonly requests: { readonly url: string; readonly headers: Headers; readonly body: string }[];
}

/** Makes the fetch of one fixture; `onStall` is called when a stalling body has given all its bytes. */
export function wireServer(wire: WireCase, cut: WireCut, onStall: () => void): WireServer {
  const requests: WireServer["requests"] = [];
  return {
    requests,
    fetch: (input, init) => {
      requests.push({
        url: String(input instanceof Request ? input.url : input),
        headers: new Headers(init?.headers),
        body: typeof init?.body === "string" ? init.body : "",
      });
      if (wire.before !== undefined && requests.length === 1) {
        const { status, headers, body } = wire.before;
        return Promise.resolve(new Response(body, { status, headers }));
      }
      const body = bodyOf(wire, cut, onStall);
      return Promise.resolve(new Response(body, { status: wire.status, headers: wire.headers }));
    },
  };
}

function bodyOf(wire: WireCase, cut: WireCut, onStall: () => void): ReadableStream<Uint8Array> {
  const chunks = cutBody(wire.body, cut);
  let at = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = chunks[at];
        at += 1;
        if (chunk !== undefined) controller.enqueue(chunk);
        else if (wire.end === "close") controller.close();
        else if (wire.end === "reset") controller.error(new TypeError("terminated"));
        else {
          onStall();
          return new Promise(() => undefined);
        }
        return undefined;
      },
    },
    { highWaterMark: 0 },
  );
}

function cutBody(body: Uint8Array, cut: WireCut): readonly Uint8Array[] {
  const isText = body[0] !== 0;
  const bytes =
    cut === "crlf" && isText
      ? new TextEncoder().encode(new TextDecoder().decode(body).replaceAll(/\r?\n/g, "\r\n"))
      : body;
  // Odd pieces fall between CR and LF and inside characters.
  const size = cut === "bytes" ? 1 : cut === "pieces" ? 7 : Math.max(1, bytes.length);
  const chunks: Uint8Array[] = [];
  for (let from = 0; from < bytes.length; from += size) chunks.push(bytes.slice(from, from + size));
  return chunks;
}
