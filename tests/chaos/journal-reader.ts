/** Reads the journal of a device whose agent is dead: what it had written down by then, it owes. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { NodeEvent } from "@mesh/proto";

import { decodeRecords } from "../../node-agent/src/journal/record.ts";
import type { JournaledEvent } from "./history.ts";

const MAGIC_BYTES = 8;

/** The events in the journal of a data directory. */
export function readJournal(node: string, dataDir: string): readonly JournaledEvent[] {
  const dir = join(dataDir, "journal");
  const files = readdirSync(dir).filter((name) => name.endsWith(".journal"));
  return files.flatMap((file) => {
    const { records } = decodeRecords(readFileSync(join(dir, file)), MAGIC_BYTES);
    return records.flatMap(({ record }) =>
      record.kind === "event"
        ? [{ node, runId: record.runId, epoch: record.epoch, n: NodeEvent.decode(record.event).n }]
        : [],
    );
  });
}
