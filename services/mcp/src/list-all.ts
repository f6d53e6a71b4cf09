/** Follows a paged list to its end, within bounds. */

import { MeshError } from "@mesh/kernel";

import type { Page } from "./session.ts";

const MAX_PAGES = 200;
const MAX_ITEMS = 10_000;

/** All items of a list; throws when it does not end. */
export async function listAll<Item>(
  page: (cursor: string | undefined) => Promise<Page<Item>>,
  what: string,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  do {
    const { items: some, nextCursor } = await page(cursor);
    items.push(...some);
    if (nextCursor !== undefined && seen.has(nextCursor)) {
      throw new MeshError(
        "failed_precondition",
        `${what}: the server gives the same cursor twice, so its list has no end`,
      );
    }
    if (seen.size >= MAX_PAGES || items.length > MAX_ITEMS) {
      throw new MeshError("resource_exhausted", `${what}: more than ${MAX_PAGES} pages or ${MAX_ITEMS} items`);
    }
    cursor = nextCursor === "" ? undefined : nextCursor;
    if (cursor !== undefined) seen.add(cursor);
  } while (cursor !== undefined);
  return items;
}
