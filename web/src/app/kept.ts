/** Small things that this browser remembers; a browser that refuses to is no reason to fail. */

const PREFIX = "yao.";

/** That this browser gets notifications: whose, and of what. */
export const PUSH_KEPT = "push";

/** What is remembered under this name. */
export function readKept(name: string): string | undefined {
  try {
    return localStorage.getItem(PREFIX + name) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Remembers a text, or forgets it. */
export function writeKept(name: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // Private windows and full disks refuse; the page works without.
  }
}
