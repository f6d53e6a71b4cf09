/** When a device fails oddly. Pure. */

const MAX_IN_A_ROW = 3;
const MIN_TRIES = 10;
const MAX_SHARE = 0.2;

/** What a device did in an eval. */
export interface DeviceRecord {
  /** Failures of the device or the way to it. */
  readonly infraErrors: number;
  /** Those since its last result. */
  readonly infraInARow: number;
  /** Its results that count, or did. */
  readonly results: number;
}

/** Whether it fails in a way that others would not: three times in a row, or more than a fifth of at least ten tries. */
export function isOdd({ infraErrors, infraInARow, results }: DeviceRecord): boolean {
  const tries = infraErrors + results;
  return infraInARow >= MAX_IN_A_ROW || (tries >= MIN_TRIES && infraErrors > MAX_SHARE * tries);
}

/** Why, in words. */
export function oddText({ infraErrors, infraInARow, results }: DeviceRecord): string {
  return infraInARow >= MAX_IN_A_ROW
    ? `${infraInARow} failures in a row that were not the assistant's`
    : `${infraErrors} of ${infraErrors + results} tries failed, and not because of the assistant`;
}
