import { createHmac, generateKeyPairSync } from "node:crypto";

import type { Json } from "@mesh/kernel";
import { expect, test } from "vitest";

import { callerOf } from "./testing/caller.ts";
import { NOW, standardFor } from "./testing/standard.ts";

type Row = readonly [name: string, args: readonly Json[], result: unknown];

const registry = standardFor({ jwtSecret: (scope) => (scope.workspaceId === "ws_1" ? "workspace secret" : undefined) });

function run(name: string, ...args: Json[]): Promise<Json | undefined> {
  return registry.call(name, args, callerOf());
}

const PEOPLE = [
  { id: 1, name: "Ann", parent: 0 },
  { id: 2, name: "Ben", parent: 1 },
  { id: 3, name: "Cay", parent: 1 },
];
const PROTO = JSON.parse('{"__proto__": {"isAdmin": true}}') as Json;

test.each<Row>([
  ["utils.str.UUID", [], "00010203-0405-4607-8809-0a0b0c0d0e0f"],
  ["utils.str.Concat", ["a", 1, true, null, "é"], "a1trueé"],
  ["utils.str.Join", [["a", 2, null], "-"], "a-2-null"],
  ["utils.str.JoinPath", ["data", "/a/", "../b.txt"], "data/b.txt"],
  ["utils.str.Hex", ["hé"], "68c3a9"],
  ["utils.url.ParseQuery", ["a=1&a=2&b=%20"], { a: ["1", "2"], b: [" "] }],
  [
    "utils.url.ParseURL",
    ["https://example.com/a?b=1#c"],
    {
      url: "https://example.com/a?b=1#c",
      scheme: "https",
      host: "example.com",
      domain: "example.com",
      port: "443",
      path: "/a",
      query: { b: ["1"] },
      fragment: "c",
    },
  ],
  ["utils.now.Date", [], "2026-03-04"],
  ["utils.now.Time", [], "05:06:07"],
  ["utils.now.DateTime", [], "2026-03-04 05:06:07"],
  ["utils.now.Timestamp", [], Math.floor(NOW / 1000)],
  ["utils.now.Timestampms", [], NOW],
  ["utils.env.Get", ["REGION"], "region of ws_1"],
  ["utils.env.Get", ["PATH"], ""],
  ["utils.env.GetMany", [["REGION", "HOME"]], { REGION: "region of ws_1", HOME: "" }],
  ["utils.env.GetMany", ["REGION", "HOME"], { REGION: "region of ws_1", HOME: "" }],
  ["utils.arr.Get", [["a", "b"], 1], "b"],
  ["utils.arr.Get", [["a", "b"], -1], "b"],
  ["utils.arr.Get", [["a", "b"], 9], null],
  ["utils.arr.Unique", [[1, "1", { a: 1 }, 1, { a: 1 }]], [1, "1", { a: 1 }]],
  ["utils.arr.Column", [PEOPLE, "name"], ["Ann", "Ben", "Cay"]],
  ["utils.arr.Column", [PEOPLE, "constructor"], [null, null, null]],
  ["utils.arr.Keep", [PEOPLE.slice(0, 1), ["name", "none"]], [{ name: "Ann" }]],
  [
    "utils.arr.Split",
    [[{ a: 1 }, { a: 2, b: 3 }]],
    {
      columns: ["a", "b"],
      values: [
        [1, null],
        [2, 3],
      ],
    },
  ],
  ["utils.arr.MapSet", [[{ a: 1 }], "b", 2], [{ a: 1, b: 2 }]],
  [
    "utils.arr.Pluck",
    [
      ["city", "people", "shops"],
      {
        people: {
          key: "town",
          value: "n",
          items: [
            { town: "A", n: 1 },
            { town: "B", n: 2 },
          ],
        },
        shops: { key: "c", value: "v", items: [{ c: "A", v: 9 }] },
      },
    ],
    [
      { city: "A", people: 1, shops: 9 },
      { city: "B", people: 2 },
    ],
  ],
  [
    "utils.arr.Tree",
    [PEOPLE],
    [
      {
        ...PEOPLE[0],
        children: [
          { ...PEOPLE[1], children: [] },
          { ...PEOPLE[2], children: [] },
        ],
      },
    ],
  ],
  [
    "utils.arr.Tree",
    [
      [
        { key: "b", up: "a" },
        { key: "a", up: "-" },
        { key: "c", up: "lost" },
      ],
      { primary: "key", parent: "up", children: "sub", empty: "-" },
    ],
    [
      { key: "a", up: "-", sub: [{ key: "b", up: "a", sub: [] }] },
      { key: "c", up: "lost", sub: [] },
    ],
  ],
  [
    "utils.tree.Flatten",
    [[{ id: 1, children: [{ id: 2, children: [{ id: 3 }] }] }]],
    [
      { id: 1, parent: null },
      { id: 2, parent: 1 },
      { id: 3, parent: 2 },
    ],
  ],
  ["utils.map.Get", [{ a: 1 }, "a"], 1],
  ["utils.map.Get", [{ a: 1 }, "__proto__"], null],
  ["utils.map.Set", [{ a: 1 }, "b", [2]], { a: 1, b: [2] }],
  ["utils.map.Keys", [{ a: 1, b: 2 }], ["a", "b"]],
  ["utils.map.Values", [{ a: 1, b: 2 }], [1, 2]],
  ["utils.map.Del", [{ a: 1, b: 2 }, "a"], { b: 2 }],
  ["utils.map.DelMany", [{ a: 1, b: 2, c: 3 }, ["a", "c"]], { b: 2 }],
  ["utils.map.Array", [{ a: 1 }], [{ key: "a", value: 1 }]],
  ["crypto.Hash", ["MD5", "hello"], "5d41402abc4b2a76b9719d911017c592"],
  ["crypto.Hash", ["sha256", "hello"], "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"],
  ["crypto.Hash", ["SHA1", "hello", "base64"], "qvTGHdzF6KLavt4PO0gs2a6pQ00="],
  [
    "crypto.HMAC",
    ["SHA256", "what do ya want for nothing?", "Jefe"],
    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
  ],
  [
    "crypto.HMACWith",
    [{ algo: "sha256", key: "hex", output: "base64" }, "what do ya want for nothing?", "4a656665"],
    "W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=",
  ],
  ["encoding.base64.Encode", ["héllo"], "aMOpbGxv"],
  ["encoding.base64.Decode", ["aMOpbGxv"], "héllo"],
  ["encoding.base64.Decode", ["aMOp\nbGxv"], "héllo"],
  ["encoding.hex.Encode", ["hi"], "6869"],
  ["encoding.hex.Decode", ["6869"], "hi"],
  ["encoding.json.Encode", [{ a: [1, null] }], '{"a":[1,null]}'],
  ["encoding.json.Decode", ['{"a":1}'], { a: 1 }],
  ["encoding.json.Parse", ["{'a': 1, b: [1, 2"], { a: 1, b: [1, 2] }],
  ["encoding.json.Repair", ["{a: 1,}"], '{"a": 1}'],
  ["encoding.yaml.Encode", [{ a: [1, "x"] }], "a:\n  - 1\n  - x\n"],
  ["encoding.yaml.Decode", ["a:\n  - 1\n  - 2026-01-01\n"], { a: [1, "2026-01-01"] }],
  ["encoding.yaml.Decode", [""], null],
  ["text.ExtractJSON", ['{"a": 1}'], { a: 1 }],
  ["text.ExtractJSON", ['Here [1] you are:\n```json\n{"a": 1}\n```\nDone {x}.'], { a: 1 }],
  ["text.ExtractJSON", ['Sure, see [1]: {"a": "b } c", "d": [1]} as asked'], { a: "b } c", d: [1] }],
  ["text.ExtractJSON", ["The list {name: 'Ann', age: 3,} is it"], { name: "Ann", age: 3 }],
  ["text.ExtractJSON", ['```json\n{"a": [1, 2'], { a: [1, 2] }],
  ["text.ExtractJSON", ['( [ not closed, then {"a": 1}'], { a: 1 }],
  ["text.ExtractJSON", ["nothing to see"], null],
  ["text.ExtractJSON", [""], null],
  [
    "text.Extract",
    ["a\n```json\n{\"x\": 1}\n```\n~~~python title=y\nprint('```')\n~~~\n```\nplain"],
    [
      { type: "json", content: '{"x": 1}', start: 3, end: 3, data: { x: 1 } },
      { type: "python", content: "print('```')", start: 6, end: 6 },
      { type: "text", content: "plain", start: 9, end: 9 },
    ],
  ],
  ["text.ExtractFirst", ["```js\n1\n```\n```ts\n2\n```"], { type: "js", content: "1", start: 2, end: 2 }],
  ["text.ExtractFirst", ["none"], null],
  ["text.ExtractByType", ["```js\n1\n```\n```ts\n2\n```", "TS"], [{ type: "ts", content: "2", start: 5, end: 5 }]],
])("%s gives what it should (row %#)", async (name, args, result) => {
  expect(await run(name, ...args)).toEqual(result);
});

test.each<[string, readonly Json[], RegExp]>([
  ["utils.str.Join", ["x"], /utils\.str\.Join: argument 1 \(list\) must be a list, not "x"/],
  ["utils.str.Join", [], /argument 1 \(list\) must be a list, but is missing/],
  ["utils.arr.Column", [[1], "a"], /argument 1 \(records\) must be a list of objects/],
  ["utils.arr.Keep", [[{}], [1]], /argument 2 \(columns\) must be a list of texts/],
  ["utils.arr.Get", [[1], "x"], /argument 2 \(index\) must be a number, not "x"/],
  ["utils.arr.Get", [[1], 1.5], /must be a whole number/],
  [
    "utils.arr.Tree",
    [
      [
        { id: 1, parent: 2 },
        { id: 2, parent: 1 },
      ],
    ],
    /in a circle/,
  ],
  ["utils.arr.Tree", [[{ id: 1, parent: 1 }]], /in a circle/],
  ["utils.arr.Pluck", [["a", "b"], {}], /must have \{key, value, items/],
  ["utils.arr.Pluck", [[], {}], /at least one column/],
  ["utils.tree.Flatten", [[1]], /objects only/],
  ["utils.map.Keys", [[1]], /argument 1 \(map\) must be an object, not a list/],
  ["utils.url.ParseURL", ["example.com"], /must be a whole URL/],
  ["utils.env.GetMany", [Array.from({ length: 101 }, (_, i) => `N${i}`)], /at most 100 names/],
  ["crypto.Hash", ["MD2", "x"], /argument 1 \(algorithm\) must be one of MD5, SHA1/],
  ["crypto.HMACWith", [{ algo: {} }, "a", "b"], /options\.algo must be one of/],
  ["crypto.AES256Encrypt", ["GCM", "short", "n", "x"], /must have 32 bytes, not 5/],
  ["crypto.AES256Encrypt", ["GCM", "k".repeat(32), "n", "x"], /at least 12 bytes/],
  ["crypto.AES256Encrypt", ["CBC", "k".repeat(32), "n", "x"], /must be one of GCM/],
  ["crypto.RSA2Sign", ["no key", "SHA256", "x"], /must be an RSA key as PEM/],
  ["encoding.base64.Decode", ["a*b"], /is not base64/],
  ["encoding.hex.Decode", ["abc"], /is not hex/],
  ["encoding.json.Decode", ["{a:1}"], /the text is not JSON/],
  ["encoding.json.Parse", ["[".repeat(200_000)], /the text is not JSON|deeper than/],
  ["encoding.yaml.Decode", ["a: [1"], /the text is not YAML/],
  [
    "encoding.yaml.Decode",
    [
      "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: &d [*c, *c]\ne: &e [*d, *d]\nf: &f [*e, *e]\ng: &g [*f, *f]\nh: [*g, *g]",
    ],
    /not YAML/,
  ],
])("%s refuses bad arguments with a reason (row %#)", async (name, args, message) => {
  await expect(run(name, ...args)).rejects.toThrow(message);
});

test.each([
  ["utils.throw.BadRequest", "invalid_argument", 400],
  ["utils.throw.Unauthorized", "unauthenticated", 401],
  ["utils.throw.Forbidden", "permission_denied", 403],
  ["utils.throw.NotFound", "not_found", 404],
  ["utils.throw.InternalError", "unknown", 500],
])("%s throws its number with the text it was given", async (name, code, number) => {
  await expect(run(name, "says why")).rejects.toMatchObject({
    code,
    message: "says why",
    details: { exception_code: number },
  });
});

test("utils.throw.Exception throws the number it is given", async () => {
  await expect(run("utils.throw.Exception", "quota", 429)).rejects.toMatchObject({
    code: "resource_exhausted",
    details: { exception_code: 429 },
  });
  await expect(run("utils.throw.Exception", "tea", 418)).rejects.toMatchObject({
    code: "unknown",
    details: { exception_code: 418 },
  });
});

test.each<[string, readonly Json[]]>([
  ["utils.map.Set", [{}, "__proto__", { isAdmin: true }]],
  ["utils.arr.MapSet", [[{}], "__proto__", { isAdmin: true }]],
  ["utils.arr.Keep", [[PROTO], ["__proto__"]]],
  ["utils.arr.Tree", [[{ id: 1 }], { children: "__proto__" }]],
  ["utils.url.ParseQuery", ["__proto__=1"]],
  ["encoding.yaml.Decode", ["__proto__: {isAdmin: true}"]],
  ["encoding.json.Parse", ["{__proto__: {isAdmin: true}}"]],
])("%s makes an ordinary key of __proto__", async (name, args) => {
  const result = await run(name, ...args);
  const made = (Array.isArray(result) ? result[0] : result) as Record<string, unknown>;
  expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
  expect(made["isAdmin"]).toBeUndefined();
  expect(({} as Record<string, unknown>)["isAdmin"]).toBeUndefined();
});

test("a time zone moves the texts of utils.now and nothing else", async () => {
  const tokyo = standardFor({ timeZone: "Asia/Tokyo" });
  expect(await tokyo.call("utils.now.DateTime", [], callerOf())).toBe("2026-03-04 14:06:07");
  expect(await tokyo.call("utils.now.Timestampms", [], callerOf())).toBe(NOW);
});

test("a text encrypted with AES-256-GCM is read with the same key, nonce and additional data only", async () => {
  const key = "k".repeat(32);
  const sealed = await run("crypto.AES256Encrypt", "GCM", key, "n".repeat(12), "héllo", "more", "hex");
  expect(await run("crypto.AES256Decrypt", "gcm", key, "n".repeat(12), sealed!, "more", "hex")).toBe("héllo");
  await expect(run("crypto.AES256Decrypt", "GCM", key, "n".repeat(12), sealed!, "else", "hex")).rejects.toThrow(
    "cannot be decrypted",
  );
  await expect(run("crypto.AES256Decrypt", "GCM", key, "n".repeat(12), "00", "", "hex")).rejects.toThrow("too short");
});

test("an RSA signature verifies with the public key, as PEM or as its bare base64", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  const bare = publicKey.replaceAll(/-----.*-----/g, "").trim();
  const signature = await run("crypto.RSA2Sign", privateKey, "SHA256", "text");
  expect(await run("crypto.RSA2Verify", publicKey, "SHA256", "text", signature!)).toBe(true);
  expect(await run("crypto.RSA2Verify", bare, "SHA256", "text", signature!)).toBe(true);
  expect(await run("crypto.RSA2Verify", publicKey, "SHA256", "other", signature!)).toBe(false);
});

test("a token says what it was made with until it expires", async () => {
  let now = NOW;
  const registry = standardFor({ clock: { now: () => now } });
  const made = (await registry.call(
    "utils.jwt.Make",
    [7, { role: "x" }, { timeout: 60, subject: "s" }, "key"],
    callerOf(),
  )) as { token: string; expires_at: number };
  expect(made.expires_at).toBe(Math.floor(NOW / 1000) + 60);
  const verify = (token: string, secret = "key"): Promise<unknown> =>
    registry.call("utils.jwt.Verify", [token, secret], callerOf());
  expect(await verify(made.token)).toMatchObject({
    id: 7,
    data: { role: "x" },
    sub: "s",
    jti: "7",
    exp: made.expires_at,
  });
  await expect(verify(made.token, "other")).rejects.toMatchObject({
    code: "permission_denied",
    details: { exception_code: 403 },
  });
  await expect(verify(`${made.token}x`)).rejects.toThrow("not valid");
  await expect(verify("")).rejects.toThrow("not valid");
  now += 60_000;
  await expect(verify(made.token)).rejects.toThrow("expired");
});

test("a token that names another algorithm, or none, is not accepted, however it is signed", async () => {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  for (const alg of ["none", "HS512"]) {
    const body = `${part({ alg })}.${part({ exp: NOW })}`;
    const signature = createHmac("sha256", "key").update(body).digest("base64url");
    await expect(run("utils.jwt.Verify", `${body}.`, "key")).rejects.toThrow("not valid");
    await expect(run("utils.jwt.Verify", `${body}.${signature}`, "key")).rejects.toThrow("not valid");
  }
});

test("tokens use the workspace's secret when none is given, and need one", async () => {
  const { token } = (await run("utils.jwt.Make", 1, {})) as { token: string };
  expect(await run("utils.jwt.Verify", token, "workspace secret")).toMatchObject({ id: 1 });
  await expect(registry.call("utils.jwt.Make", [1, {}], callerOf({ workspaceId: "ws_2" }))).rejects.toThrow(
    "no signing secret",
  );
});

test("a hostile text costs no more than its length", { timeout: 60_000 }, async () => {
  const texts = [
    "[{".repeat(100_000),
    "```".repeat(100_000),
    "`~".repeat(100_000),
    '{"'.repeat(100_000),
    "\\".repeat(200_000),
  ];
  for (const text of texts) {
    const startedMs = performance.now();
    await run("text.ExtractJSON", text).catch(() => undefined);
    await run("text.Extract", text);
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  }
});
