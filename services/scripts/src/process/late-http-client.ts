/**
 * HTTP for scripts, loaded with the first request: most runs send none, and its library takes a third of the time in which a
 * runner starts.
 */

import type { HttpClient, HttpClientDeps } from "./http-client.ts";

/** Sends requests of scripts as an {@link HttpClient} does; one for a runner. */
export class LateHttpClient implements Pick<HttpClient, "send" | "stream">, AsyncDisposable {
  readonly #deps: HttpClientDeps;
  #client: Promise<HttpClient> | undefined;

  constructor(deps: HttpClientDeps) {
    this.#deps = deps;
  }

  /** Sends a request and reads the whole answer. */
  async send(...request: Parameters<HttpClient["send"]>): ReturnType<HttpClient["send"]> {
    const client = await this.#loaded();
    return await client.send(...request);
  }

  /** Sends a request and hands over the answer line by line, until `onLine` returns false. */
  async stream(...request: Parameters<HttpClient["stream"]>): ReturnType<HttpClient["stream"]> {
    const client = await this.#loaded();
    return await client.stream(...request);
  }

  /** Closes all connections; requests under way fail. */
  async [Symbol.asyncDispose](): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    await client?.[Symbol.asyncDispose]();
  }

  #loaded(): Promise<HttpClient> {
    this.#client ??= import("./http-client.ts").then(
      ({ HttpClient: Client }) => new Client(this.#deps),
      (error: unknown) => {
        // The next request tries again.
        this.#client = undefined;
        throw error;
      },
    );
    return this.#client;
  }
}
