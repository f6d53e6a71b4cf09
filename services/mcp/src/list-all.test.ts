import { expect, test } from "vitest";

import { listAll } from "./list-all.ts";

test("pages are followed to the end", async () => {
  const pages: Record<string, { items: number[]; nextCursor?: string }> = {
    "": { items: [1, 2], nextCursor: "b" },
    b: { items: [], nextCursor: "c" },
    c: { items: [3] },
  };
  expect(await listAll((cursor) => Promise.resolve(pages[cursor ?? ""]!), "list")).toEqual([1, 2, 3]);
});

test("a list that repeats its cursor or never ends is refused", async () => {
  await expect(listAll(() => Promise.resolve({ items: [1], nextCursor: "same" }), "list")).rejects.toThrow(/twice/);
  let page = 0;
  const endless = (): Promise<{ items: number[]; nextCursor: string }> => {
    page += 1;
    return Promise.resolve({ items: [page], nextCursor: String(page) });
  };
  await expect(listAll(endless, "list")).rejects.toThrow(/more than 200 pages/);
});
