/** The program of the thread that reads documents; see `extract-thread.ts`. */

import { parentPort, workerData } from "node:worker_threads";

import { isObject, MeshError, systemClock } from "@mesh/kernel";

import { documentText } from "./document-text.ts";
import type { FromThread } from "./extract-thread.ts";

async function read(): Promise<FromThread> {
  const data: unknown = workerData;
  try {
    const { bytes, name } = isObject(data) ? data : {};
    if (!(bytes instanceof Uint8Array) || typeof name !== "string")
      throw new MeshError("internal", "no file was given");
    const { signal } = new AbortController();
    return { result: await documentText({ bytes, name }, { clock: systemClock, signal }) };
  } catch (thrown) {
    const { code, message } = MeshError.from(thrown);
    return { error: { code, message: code === "internal" ? "it could not be read" : message } };
  }
}

parentPort?.postMessage(await read());
