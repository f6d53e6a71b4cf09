/** The journal of a device whose agent is dead: what it has written down by then, it owes. */

import { readdirSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";

import { NodeEvent } from "@mesh/proto";

import { decodeRecords, type JournalRecord } from "../../node-agent/src/journal/record.ts";
import type { JournaledEvent } from "./history.ts";

const MAGIC_BYTES = 8;

/** The events in the journal of a data directory. */
export function readJournal(node: string, dataDir: string): readonly JournaledEvent[] {
  return filesOf(dataDir).flatMap((file) => {
    const { records } = decodeRecords(readFileSync(file), MAGIC_BYTES);
    return records.flatMap(({ record }) =>
      record.kind === "event"
        ? [{ node, runId: record.runId, epoch: record.epoch, n: NodeEvent.decode(record.event).n }]
        : [],
    );
  });
}

/**
 * Takes back what a power cut may take: up to `most` of the newest records, the last one torn in the middle. Only pieces of
 * text, which the journal promises to the disk within 50 ms and not before they are sent.
 */
export function tearJournal(dataDir: string, most: number): void {
  const file = filesOf(dataDir).at(-1);
  if (file === undefined) return;
  const { records } = decodeRecords(readFileSync(file), MAGIC_BYTES);
  const isLost = records.map(({ record }) => isText(record));
  const firstLost = Math.max(isLost.lastIndexOf(false) + 1, records.length - most);
  const torn = records[firstLost];
  if (torn !== undefined) truncateSync(file, torn.offset + Math.floor(torn.length / 2));
}

function isText(record: JournalRecord): boolean {
  return record.kind === "event" && NodeEvent.decode(record.event).delta_of !== "";
}

function filesOf(dataDir: string): readonly string[] {
  const dir = join(dataDir, "journal");
  const names = readdirSync(dir).filter((name) => name.endsWith(".journal"));
  return names.toSorted().map((name) => join(dir, name));
}
