/** Results from whatever an eval wrote: its log, or its report as one JSON document. */

import { readFile, stat } from "node:fs/promises";

import { errorText, isObject, type Json, MeshError } from "@mesh/kernel";

import { logRows } from "./report/log-file.ts";
import { readRow } from "./report/log-row.ts";
import type { CaseResult } from "./result.ts";

const MAX_DOCUMENT_BYTES = 256 * 1024 * 1024;

/** The results in a file, in order. */
export async function* readResults(path: string): AsyncGenerator<CaseResult> {
  if (!path.toLowerCase().endsWith(".json")) {
    let count = 0;
    for await (const row of logRows(path)) {
      if (row.type !== "result") continue;
      const { type: _type, ...result } = row;
      count += 1;
      yield result;
    }
    if (count === 0) throw new MeshError("failed_precondition", `${path} holds no results of an eval`);
    return;
  }
  yield* inDocument(await documentOf(path), path);
}

function* inDocument(document: Json, path: string): Generator<CaseResult> {
  const results = isObject(document) ? document["results"] : undefined;
  if (!Array.isArray(results))
    throw new MeshError("failed_precondition", `${path} is not the report of an eval: it has no results`);
  for (const each of results as readonly Json[]) {
    const row = isObject(each) ? readRow(JSON.stringify({ run: 1, hash: "", ...each, type: "result" })) : undefined;
    if (row?.type !== "result")
      throw new MeshError("failed_precondition", `${path} has a result without id and status`);
    const { type: _type, ...result } = row;
    yield result;
  }
}

async function documentOf(path: string): Promise<Json> {
  try {
    const { size } = await stat(path);
    if (size > MAX_DOCUMENT_BYTES)
      throw new Error(`${size} bytes; ${MAX_DOCUMENT_BYTES} are the most; take the .jsonl log`);
    return JSON.parse(await readFile(path, "utf8")) as Json;
  } catch (error) {
    throw new MeshError("invalid_argument", `cannot read ${path}: ${errorText(error)}`, { cause: error });
  }
}
