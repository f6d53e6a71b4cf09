/** What a notification says, and how long and how urgently it may be on its way. Pure. */

/** What people are told of. */
export const PUSH_KINDS = ["needs_input", "failed", "done"] as const;

/** One of {@link PUSH_KINDS}. */
export type PushKind = (typeof PUSH_KINDS)[number];

/** What the page's service worker gets: no more than a lock screen may show. */
export interface PushPayload {
  readonly kind: PushKind | "test";
  /** Of the task, such as T-12; empty in a test. */
  readonly key: string;
  readonly title: string;
  /** A path of the page. */
  readonly url: string;
  /** What replaces an older notification of the same task. */
  readonly tag: string;
  /** Language of the person; empty means as the browser says. */
  readonly locale: string;
}

/** A task's news as stored. */
export interface TaskNews {
  readonly kind: PushKind;
  readonly taskId: string;
  readonly number: number;
  readonly title: string;
  readonly locale: string;
}

const HOUR_MS = 3_600_000;
const MAX_TITLE_CHARS = 200;
const MAX_TOPIC_CHARS = 32;
const DELAYS_MS: readonly number[] = [2000, 10_000, 60_000, 300_000, 1_800_000, 7_200_000];

/** Milliseconds after which a notification is no news any more: a question waits longer than an outcome. */
export const PUSH_LIFE_MS: Readonly<Record<PushKind, number>> = {
  needs_input: 24 * HOUR_MS,
  failed: 12 * HOUR_MS,
  done: 4 * HOUR_MS,
};

/** What is said of a task. */
export function payloadOf({ kind, taskId, number, title, locale }: TaskNews): PushPayload {
  return {
    kind,
    key: `T-${number}`,
    // Not cut within a character.
    title: title.slice(0, MAX_TITLE_CHARS).replace(/[\uD800-\uDBFF]$/, ""),
    url: `/task/${taskId}`,
    tag: taskId,
    locale,
  };
}

/** What is said when a person tries it. */
export function testPayload(locale: string): PushPayload {
  return { kind: "test", key: "", title: "", url: "/settings/notifications", tag: "test", locale };
}

/** Headers by which a push service keeps only the newest message of a task, and wakes a phone for questions alone (RFC 8030). */
export function pushHeaders(
  { kind, tag }: Pick<PushPayload, "kind" | "tag">,
  ttlMs: number,
): Readonly<Record<string, string>> {
  const topic = tag.replaceAll(/[^A-Za-z0-9_-]/g, "").slice(-MAX_TOPIC_CHARS);
  return {
    ttl: String(Math.max(0, Math.floor(ttlMs / 1000))),
    urgency: kind === "needs_input" || kind === "test" ? "high" : "normal",
    ...(kind === "test" ? {} : { topic }),
  };
}

/** Milliseconds to the next attempt after `attempts` failed ones; undefined when there is none. `random` is in [0, 1). */
export function pushRetryMs(attempts: number, random: number): number | undefined {
  const delayMs = DELAYS_MS[attempts - 1];
  return delayMs === undefined ? undefined : Math.round(delayMs * (0.9 + 0.2 * random));
}
