/** Totals per device, and how each case went on each: a pure fold over results that say where they were made. */

import type { CaseResult, Status } from "../result.ts";

/** One device. */
export interface DeviceCounts {
  readonly device: string;
  readonly total: number;
  readonly passed: number;
  readonly failed: number;
  readonly errors: number;
  readonly timeouts: number;
  readonly skipped: number;
  /** Results that say something about the assistant: passed, failed or timed out. */
  readonly scored: number;
  /** Errors: results that could not be judged. */
  readonly unjudged: number;
  /** Passed of those that were scored, from 0 to 1; undefined when there were none. */
  readonly rate: number | undefined;
}

/** One case on one device. */
export interface CaseOnDevice {
  readonly passed: number;
  readonly total: number;
  /** The worst of its runs. */
  readonly status: Status;
}

type Counts = Record<Status, number>;

const WORST: readonly Status[] = ["failed", "timeout", "error", "skipped", "passed"];

/** See the file comment. */
export class DeviceTally {
  readonly #devices = new Map<string, Counts>();

  /** A result without a device is of this machine, and not counted. */
  add({ device, status }: Pick<CaseResult, "device" | "status">): void {
    if (device !== undefined) countIn(this.#devices, device, status);
  }

  /** By name; empty when no result said where it was made. */
  devices(): readonly DeviceCounts[] {
    return [...this.#devices].map(([device, counts]) => countsOf(device, counts)).toSorted(byDevice);
  }
}

/** How each case went on each device; holds a few numbers per case and device. */
export class CaseDeviceTable {
  readonly #cases = new Map<string, Map<string, Counts>>();

  add({ id, device, status }: Pick<CaseResult, "id" | "device" | "status">): void {
    if (device === undefined) return;
    const row = this.#cases.get(id) ?? new Map<string, Counts>();
    this.#cases.set(id, row);
    countIn(row, device, status);
  }

  /** Cases whose devices disagree come first, then those that did not pass; in order of their first result otherwise. */
  rows(): readonly { readonly id: string; readonly on: ReadonlyMap<string, CaseOnDevice> }[] {
    const rows = [...this.#cases].map(([id, row]) => ({
      id,
      on: new Map([...row].map(([device, counts]) => [device, onDevice(counts)])),
    }));
    return rows.toSorted((a, b) => rank(b.on) - rank(a.on));
  }
}

function countIn(into: Map<string, Counts>, device: string, status: Status): void {
  const counts = into.get(device) ?? { passed: 0, failed: 0, error: 0, timeout: 0, skipped: 0 };
  counts[status] += 1;
  into.set(device, counts);
}

function countsOf(device: string, { passed, failed, error, timeout, skipped }: Counts): DeviceCounts {
  const scored = passed + failed + timeout;
  return {
    device,
    total: scored + error + skipped,
    passed,
    failed,
    errors: error,
    timeouts: timeout,
    skipped,
    scored,
    unjudged: error,
    rate: scored === 0 ? undefined : passed / scored,
  };
}

function byDevice(a: DeviceCounts, b: DeviceCounts): number {
  return a.device < b.device ? -1 : 1;
}

function onDevice(counts: Counts): CaseOnDevice {
  const total = Object.values(counts).reduce((sum, each) => sum + each, 0);
  return { passed: counts.passed, total, status: WORST.find((status) => counts[status] > 0) ?? "passed" };
}

function rank(on: ReadonlyMap<string, CaseOnDevice>): number {
  const statuses = new Set([...on.values()].map(({ status }) => status));
  if (statuses.size > 1) return 2;
  return statuses.has("passed") || statuses.has("skipped") ? 0 : 1;
}
