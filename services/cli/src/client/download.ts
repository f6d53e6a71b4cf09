/** Reads a file from the coordinator as it arrives. */

import { MeshError } from "@mesh/kernel";

import type { Cli } from "../cli.ts";
import type { CallOptions, Client } from "./client.ts";
import { errorOfNetwork } from "./problem.ts";

/** A file on its way. */
export interface Download {
  readonly size: number;
  /** Hex SHA-256 where the coordinator knows it. */
  readonly hash: string;
  readonly parts: AsyncIterable<Uint8Array>;
}

const SILENCE_MS = 60_000;

/** Opens a download; it ends with an error when nothing comes for a minute, or less comes than was told. */
export async function openDownload(
  cli: Cli,
  client: Client,
  path: string,
  query: CallOptions["query"],
): Promise<Download> {
  const silence = new AbortController();
  const wait = (): (() => void) =>
    cli.clock.after(SILENCE_MS, () =>
      silence.abort(new MeshError("deadline_exceeded", "nothing came for a minute — try again, or run `yao doctor`")),
    );
  let cancel = wait();
  let response: Response;
  try {
    response = await client.open("GET", path, {
      query: query ?? {},
      headers: { accept: "*/*" },
      signal: silence.signal,
    });
  } finally {
    cancel();
  }
  const size = Number(response.headers.get("content-length") ?? 0);
  const hash = /^"([0-9a-f]{64})"$/.exec(response.headers.get("etag") ?? "")?.[1] ?? "";
  const parts = async function* read(): AsyncGenerator<Uint8Array> {
    let got = 0;
    try {
      cancel = wait();
      for await (const part of response.body ?? []) {
        cancel();
        got += part.byteLength;
        yield part;
        cancel = wait();
      }
    } catch (error) {
      throw errorOfNetwork(silence.signal.aborted ? silence.signal.reason : error, client.url);
    } finally {
      cancel();
    }
    if (got < size) throw new MeshError("data_loss", `only ${got} of ${size} bytes came — get it again`);
  };
  return { size, hash, parts: parts() };
}
