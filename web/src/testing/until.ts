/** Waits for facts. */

const STEP_MS = 5;
const LIMIT_MS = 10_000;

/** Resolves when the condition holds; fails with the text when it does not within ten seconds. */
export async function until(what: string, condition: () => boolean): Promise<void> {
  const end = Date.now() + LIMIT_MS;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`waited for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
}
