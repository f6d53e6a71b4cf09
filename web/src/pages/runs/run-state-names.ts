/** States that runs can be listed by. */
export const RUN_STATES = ["queued", "running", "waiting", "succeeded", "failed", "cancelled", "lost"] as const;
