/** Fetches what a run that waited goes on from, part by part. */

import { isObject, MeshError } from "@mesh/kernel";
import type { StatePart } from "@mesh/proto";
import type { ItemAnswer, Resume } from "@mesh/runtime";

// More than any saved run has; a bound on what a coordinator may make this device keep in memory.
const MAX_STATE_CHARS = 32 * 1024 * 1024;
const MAX_PARTS = 4096;

/** Reads all parts; `ask` gives one of them. */
export async function fetchSavedState(ask: (part: number) => Promise<StatePart>): Promise<Resume> {
  const pieces: string[] = [];
  const answers: ItemAnswer[] = [];
  let chars = 0;
  for (let part = 0, total = 1; part < total; part += 1) {
    const { state_parts: states, answers: answered, body } = await ask(part);
    total = states + answered;
    chars += body.length;
    if (chars > MAX_STATE_CHARS || total > MAX_PARTS) {
      throw new MeshError("resource_exhausted", "the saved state of the run is too large for this device");
    }
    if (part < states) pieces.push(body);
    else if (part < total) answers.push(readAnswer(body));
  }
  return { state: pieces.join(""), answers };
}

function readAnswer(body: string): ItemAnswer {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    // Told below.
  }
  if (isObject(parsed) && typeof parsed["call_id"] === "string" && typeof parsed["decision"] === "string") {
    return parsed as unknown as ItemAnswer;
  }
  throw new MeshError("data_loss", "an answer to the run cannot be read; run it again with: yao runs retry");
}
