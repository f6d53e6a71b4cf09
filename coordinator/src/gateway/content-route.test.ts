import { MeshError } from "@mesh/kernel";
import { expect, test } from "vitest";

import type { FileContents } from "./content-route.ts";
import { callerWith, startGateway } from "./testing/running-gateway.ts";
import { scriptedApi } from "./testing/scripted-api.ts";

const PATH = "/v1/workspaces/w/files/content?path=a%20b.html";
const HASH = "a".repeat(64);
const TEXT = "0123456789";

/** A file of ten bytes whose parts are of three; `failAt` ends the reading there. */
function contents(failAt = Number.POSITIVE_INFINITY, over: object = {}): FileContents & { readonly opened: unknown[] } {
  const opened: unknown[] = [];
  return {
    opened,
    open: (request) => {
      opened.push(request);
      return Promise.resolve({
        name: "ä b.html",
        mediaType: "text/html",
        size: TEXT.length,
        hash: HASH,
        revision: "r",
        async *parts({ from, to }) {
          for (let at = from; at < to; at += 3) {
            if (at >= failAt) throw new MeshError("aborted", "changed");
            yield Buffer.from(TEXT.slice(at, Math.min(at + 3, to)));
          }
        },
        ...over,
      });
    },
  };
}

test("a whole file comes with its length and hash, as a download that no browser runs", async () => {
  const files = contents();
  await using gateway = await startGateway({ api: scriptedApi().api, contents: files });
  const response = await gateway.fetch(`${PATH}&node=one`);
  expect([response.status, await response.text()]).toEqual([200, TEXT]);
  expect(files.opened).toEqual([{ workspace: "w", path: "a b.html", node: "one" }]);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-length": "10",
    etag: `"${HASH}"`,
    "content-disposition": `attachment; filename="__b.html"; filename*=UTF-8''%C3%A4%20b.html`,
    "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
  });
});

test.each([
  ["bytes=2-4", 206, "234", "bytes 2-4/10"],
  ["bytes=7-", 206, "789", "bytes 7-9/10"],
  ["bytes=-2", 206, "89", "bytes 8-9/10"],
  ["bytes=0-99", 206, TEXT, "bytes 0-9/10"],
  ["bytes=0-1,4-5", 200, TEXT, null],
  ["items=0-1", 200, TEXT, null],
])("the range %s is answered with %s", async (range, status, text, contentRange) => {
  await using gateway = await startGateway({ api: scriptedApi().api, contents: contents() });
  const response = await gateway.fetch(PATH, { headers: { range } });
  expect([response.status, await response.text(), response.headers.get("content-range")]).toEqual([
    status,
    text,
    contentRange,
  ]);
});

test("a range of another content is the whole; one outside of the file is refused", async () => {
  await using gateway = await startGateway({ api: scriptedApi().api, contents: contents() });
  const other = await gateway.fetch(PATH, { headers: { range: "bytes=0-1", "if-range": '"b"' } });
  expect([other.status, await other.text()]).toEqual([200, TEXT]);
  const outside = await gateway.fetch(PATH, { headers: { range: "bytes=10-" } });
  expect([outside.status, await outside.json()]).toEqual([416, expect.objectContaining({ code: "out_of_range" })]);
});

test("what the client has already is not sent again; a file without a hash has a tag as well", async () => {
  await using gateway = await startGateway({ api: scriptedApi().api, contents: contents(undefined, { hash: "" }) });
  const etag = (await gateway.fetch(PATH)).headers.get("etag") ?? "";
  expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
  const again = await gateway.fetch(PATH, { headers: { "if-none-match": `"x", ${etag}` } });
  expect([again.status, await again.text()]).toEqual([304, ""]);
});

test("C3: a file that cannot be finished ends with a cut connection, never with a part taken for the whole", async () => {
  await using gateway = await startGateway({ api: scriptedApi().api, contents: contents(6) });
  // The cut may come before the head of the answer has left.
  await expect(gateway.fetch(PATH).then((response) => response.text())).rejects.toThrow();
});

test("an empty file is one, and what cannot be opened is a problem", async () => {
  await using empty = await startGateway({ api: scriptedApi().api, contents: contents(undefined, { size: 0 }) });
  const response = await empty.fetch(PATH);
  expect([response.status, response.headers.get("content-length"), await response.text()]).toEqual([200, "0", ""]);
  await using none = await startGateway({ api: scriptedApi().api });
  expect((await none.fetch(PATH)).status).toBe(404);
});

test("a download needs the scope to read", async () => {
  const callers = new Map([
    ["none", callerWith([])],
    ["reads", callerWith(["read"])],
  ]);
  await using gateway = await startGateway({ api: scriptedApi().api, contents: contents(), callers });
  const statuses = await Promise.all(
    ["", "none", "reads"].map(async (token) => (await gateway.fetch(PATH, { token })).status),
  );
  expect(statuses).toEqual([401, 403, 200]);
});
