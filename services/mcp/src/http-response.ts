/** Responses: errors of the protocol as HTTP, and the moment a stream has ended. */

/** An error response with a JSON-RPC error as its body. */
export function problem(
  status: number,
  code: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const body = JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null });
  return new Response(body, { status, headers: { "content-type": "application/json", ...headers } });
}

/** The same response; `ended` is called once, when all of it was sent (`isComplete`) or its reader has gone. */
export function onStreamEnd(response: Response, ended: (isComplete: boolean) => void): Response {
  if (response.body === null) {
    ended(true);
    return response;
  }
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await reader.read().catch((error: unknown) => {
          ended(false);
          throw error;
        });
        if (!next.done) {
          controller.enqueue(next.value);
          return;
        }
        controller.close();
        ended(true);
      },
      async cancel(reason) {
        ended(false);
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}
