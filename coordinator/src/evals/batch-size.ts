/**
 * How many units the next batches have. Pure.
 *
 * Guided self-scheduling: each batch takes its slot's share of half of what is left, so that batches are large while there is much to
 * do and small at the end, where they decide when all is done.
 */

/** Of one batch. */
export const MAX_BATCH_UNITS = 64;

/** A device with room. */
export interface Room {
  readonly nodeId: string;
  /** All of its slots. */
  readonly slots: number;
  /** Batches that it may get now. */
  readonly free: number;
}

/** What bounds the sizes. */
export interface SizeRules {
  /** Units that wait for a device. */
  readonly open: number;
  /** Slots of all devices that take part. */
  readonly slots: number;
  /** Units that one batch runs at the same time. */
  readonly parallel: number;
  /** No unit may wait in a batch. */
  readonly isFailFast: boolean;
  /** Batches at most; Infinity for no bound. */
  readonly batches: number;
}

/** Sizes of the next batches of each device: slot after slot, so that devices get equal shares. */
export function planSizes(rooms: readonly Room[], rules: SizeRules): ReadonlyMap<string, readonly number[]> {
  const sizes = new Map<string, number[]>();
  let { open, batches } = rules;
  const most = Math.max(0, ...rooms.map((room) => room.free));
  for (let turn = 0; turn < most; turn += 1) {
    for (const room of rooms) {
      if (room.free <= turn || open <= 0 || batches <= 0) continue;
      const size = Math.min(open, sizeOf(open, rules));
      open -= size;
      batches -= 1;
      const known = sizes.get(room.nodeId);
      if (known === undefined) sizes.set(room.nodeId, [size]);
      else known.push(size);
    }
  }
  return sizes;
}

function sizeOf(open: number, { slots, parallel, isFailFast }: SizeRules): number {
  const share = Math.ceil(open / Math.max(1, slots));
  // What runs at the same time in one slot costs no time: not less than that, while there is enough for all slots.
  const atOnce = Math.min(parallel, share);
  const guided = isFailFast ? parallel : Math.max(atOnce, Math.ceil(share / 2));
  return Math.min(MAX_BATCH_UNITS, Math.max(1, guided));
}
