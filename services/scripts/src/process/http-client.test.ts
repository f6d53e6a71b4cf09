import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";

import { type CancelTimer, type Json, MeshError, systemClock } from "@mesh/kernel";
import { afterEach, describe, expect, test } from "vitest";

import { allowUrl } from "./http-address.ts";
import { HttpClient, type HttpLimits } from "./http-client.ts";
import type { HttpResponse } from "./http-message.ts";
import { callerOf } from "./testing/caller.ts";
import { standardFor } from "./testing/standard.ts";

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

async function serverOf(serve: Serve): Promise<string> {
  const server: Server = createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function clientOf(
  limits: Partial<HttpLimits> = {},
  deps: Partial<ConstructorParameters<typeof HttpClient>[0]> = {},
): HttpClient {
  const client = new HttpClient({ clock: systemClock, ...deps }, limits);
  closing.push(() => client[Symbol.asyncDispose]());
  return client;
}

/** Answers with what it was asked. */
const echo: Serve = (request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    response.setHeader("content-type", "application/json");
    const { method, url, headers } = request;
    response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(parts).toString() }));
  });
};

function run(client: HttpClient, name: string, ...args: Json[]): Promise<Json | undefined> {
  return standardFor({ http: client }).call(name, args, callerOf());
}

const live = (): AbortSignal => new AbortController().signal;

interface Echoed {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

test.each<[string, readonly Json[], Partial<Echoed>]>([
  ["Get", [{ a: 1, b: ["x", "y"] }, { "X-A": "1" }], { method: "GET", url: "/p?q=0&a=1&b=x&b=y", body: "" }],
  ["Get", ["a=1&b=2"], { method: "GET", url: "/p?q=0&a=1&b=2" }],
  ["Get", [[["a", "1"], { b: 2 }]], { url: "/p?q=0&a=1&b=2" }],
  ["Post", [{ a: 1 }, null, { b: 2 }], { method: "POST", url: "/p?q=0&b=2", body: '{"a":1}' }],
  ["Post", ["plain"], { method: "POST", body: "plain" }],
  [
    "Post",
    [{ a: 1, b: "x y" }, null, null, { "Content-Type": "application/x-www-form-urlencoded" }],
    { body: "a=1&b=x+y" },
  ],
  ["Put", [[1, 2], { b: 2 }, { "X-A": "1" }], { method: "PUT", url: "/p?q=0&b=2", body: "[1,2]" }],
  ["Patch", [{ a: null }], { method: "PATCH", body: '{"a":null}' }],
  ["Delete", [], { method: "DELETE", body: "" }],
])("http.%s sends its arguments where they belong (row %#)", async (method, args, expected) => {
  const base = await serverOf(echo);
  const answer = (await run(clientOf(), `http.${method}`, `${base}/p?q=0`, ...args)) as HttpResponse;
  expect(answer).toMatchObject({ status: 200, code: 200, message: "OK" });
  expect(answer.headers["Content-Type"]).toEqual(["application/json"]);
  expect(answer.data).toMatchObject(expected);
});

test("http.Head gives the headers and no data; http.Send takes the method first", async () => {
  const base = await serverOf(echo);
  const client = clientOf();
  expect(await run(client, "http.Head", base)).toMatchObject({ status: 200, data: null });
  const sent = (await run(client, "http.Send", "options", base, null, { a: 1 }, [
    { "X-A": "1" },
    { "X-B": "2" },
  ])) as HttpResponse;
  expect(sent.data).toMatchObject({ method: "OPTIONS", url: "/?a=1", headers: { "x-a": "1", "x-b": "2" } });
});

test("files go as multipart/form-data, with the fields of the payload", async () => {
  const base = await serverOf(echo);
  const files = [{ name: "doc", filename: "a.txt", data: "data:text/plain;base64,aGVsbG8=" }];
  const answer = (await run(clientOf(), "http.Post", base, { title: "T" }, files)) as HttpResponse;
  const { headers, body } = answer.data as unknown as Echoed;
  expect(headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/);
  expect(body).toContain('name="title"\r\n\r\nT');
  expect(body).toMatch(/name="doc"; filename="a.txt"\r\nContent-Type: text\/plain\r\n\r\nhello/);
});

test.each<[string, string, Buffer, Json]>([
  ["JSON is parsed", "application/json; charset=utf-8", Buffer.from('{"a":1}'), { a: 1 }],
  ["JSON that is none stays text", "application/json", Buffer.from("{oops"), "{oops"],
  ["text stays text", "text/html", Buffer.from("<p>é</p>"), "<p>é</p>"],
  ["XML is text", "application/atom+xml", Buffer.from("<a/>"), "<a/>"],
  ["problem documents are JSON", "application/problem+json", Buffer.from('{"a":1}'), { a: 1 }],
  ["lines of JSON are text", "application/x-ndjson", Buffer.from('{"a":1}\n{}'), '{"a":1}\n{}'],
  ["anything else is base64", "image/png", Buffer.from([0, 1, 255]), "AAH/"],
  ["an empty body is null", "application/json", Buffer.alloc(0), null],
])("of an answer, %s", async (_title, type, body, data) => {
  const base = await serverOf((_request, response) => void response.setHeader("content-type", type).end(body));
  expect((await clientOf().send({ method: "GET", url: base }, live())).data).toEqual(data);
});

test("an answer with an error status is an answer", async () => {
  const base = await serverOf(
    (_request, response) => void response.writeHead(404, { "set-cookie": ["a=1", "b=2"] }).end("no"),
  );
  const answer = await clientOf().send({ method: "GET", url: base }, live());
  expect(answer).toMatchObject({ status: 404, code: 404, data: "no", message: "Not Found" });
  expect(answer.headers["Set-Cookie"]).toEqual(["a=1", "b=2"]);
});

test("a server that is not there is an answer with status 0 that says why", async () => {
  const base = await serverOf(echo);
  await closing.pop()?.();
  const answer = await clientOf().send({ method: "GET", url: base }, live());
  expect(answer).toMatchObject({
    status: 0,
    code: 0,
    data: null,
    message: expect.stringContaining("ECONNREFUSED") as string,
  });
});

test("a server that is at none of its addresses is an answer that says why", async () => {
  const base = await serverOf(echo);
  await closing.pop()?.();
  const port = new URL(base).port;
  const addresses = ["127.0.0.1", "127.0.0.2"].map((address) => ({ address, family: 4 }));
  const client = clientOf({}, { lookup: (_name, _options, callback) => callback(null, addresses) });
  const answer = await client.send({ method: "GET", url: `http://two.test:${port}` }, live());
  expect(answer).toMatchObject({ status: 0, message: expect.stringContaining("ECONNREFUSED") as string });
});

test("name and password in an address become a header, and stay out of the address", async () => {
  const base = new URL(await serverOf(echo));
  const answer = await clientOf().send({ method: "GET", url: `http://ann:p%40ss@${base.host}/x` }, live());
  const authorization = `Basic ${Buffer.from("ann:p@ss").toString("base64")}`;
  expect(answer.data).toMatchObject({ url: "/x", headers: { authorization } });
});

test.each<[string, Record<string, Json>, RegExp]>([
  ["a path", { url: "/etc/passwd" }, /not a whole URL/],
  ["a file", { url: "file:///etc/passwd" }, /may not reach file:/],
  ["an unknown method", { method: "BREW" }, /not an HTTP method/],
  ["a header that breaks the line", { headers: { "X-A": "1\r\nX-B: 2" } }, /HTTP does not allow/],
  ["a header that is none", { headers: { "X A": "1" } }, /HTTP does not allow/],
  ["a header of the connection", { headers: { Host: "other" } }, /set by the connection/],
  ["a query that is a number", { query: 5 }, /query must be an object/],
  ["files without data", { files: [{ name: "x" }] }, /files must be a list of/],
])("a request for %s is refused before anything is sent", async (_title, part, message) => {
  const request = { method: "POST", url: "http://127.0.0.1:9/", ...part } as { method: string; url: string };
  await expect(clientOf().send(request, live())).rejects.toThrow(message);
});

describe("where scripts may go", () => {
  test.each([
    "http://169.254.169.254/latest/meta-data",
    "http://169.254.0.1",
    "http://0xa9fea9fe/",
    "http://2852039166/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::169.254.169.254]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
    "http://100.100.100.200/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://METADATA.google.internal./",
    "file:///etc/passwd",
    "ftp://example.com/",
    "data:text/plain,x",
  ])("%s is refused", async (url) => {
    expect(allowUrl(new URL(url))).toBe(false);
    await expect(clientOf().send({ method: "GET", url }, live())).rejects.toMatchObject({ code: "permission_denied" });
  });

  test.each(["http://127.0.0.1:1", "http://192.168.1.2", "https://example.com", "http://[::1]/", "http://10.0.0.1"])(
    "%s is allowed: the device's own network is what nodes are for",
    (url) => {
      expect(allowUrl(new URL(url))).toBe(true);
    },
  );

  test("a name that resolves to a metadata service is refused when connecting", async () => {
    const addresses = [
      { address: "127.0.0.1", family: 4 },
      { address: "169.254.169.254", family: 4 },
    ];
    const client = clientOf(
      {},
      {
        lookup: (_name, options, callback) =>
          options.all === true ? callback(null, addresses) : callback(null, "169.254.169.254", 4),
      },
    );
    const error = await client.send({ method: "GET", url: "http://innocent.test/" }, live()).catch((it: unknown) => it);
    expect(error).toMatchObject({ code: "permission_denied", message: "scripts may not reach http://innocent.test" });
  });

  test("a name that resolves elsewhere is reached", async () => {
    const base = new URL(await serverOf(echo));
    const client = clientOf(
      {},
      { lookup: (_name, _options, callback) => callback(null, [{ address: "127.0.0.1", family: 4 }]) },
    );
    const answer = await client.send({ method: "GET", url: `http://innocent.test:${base.port}/` }, live());
    expect(answer.data).toMatchObject({ headers: { host: `innocent.test:${base.port}` } });
  });

  test("a redirect to a metadata service is refused", async () => {
    const base = await serverOf(
      (_request, response) => void response.writeHead(302, { location: "http://169.254.169.254/" }).end(),
    );
    await expect(clientOf().send({ method: "GET", url: base }, live())).rejects.toMatchObject({
      code: "permission_denied",
    });
  });

  test("the embedder's own rule replaces the default", async () => {
    const base = await serverOf(echo);
    const client = clientOf({}, { allowUrl: (url) => url.pathname === "/ok" });
    expect(await client.send({ method: "GET", url: `${base}/ok` }, live())).toMatchObject({ status: 200 });
    await expect(client.send({ method: "GET", url: `${base}/no` }, live())).rejects.toMatchObject({
      code: "permission_denied",
    });
  });
});

describe("redirects", () => {
  test.each<[number, string, Partial<Echoed>]>([
    [301, "POST", { method: "GET", body: "" }],
    [302, "PUT", { method: "PUT", body: '{"a":1}' }],
    [303, "PUT", { method: "GET", body: "" }],
    [307, "POST", { method: "POST", body: '{"a":1}' }],
    [308, "DELETE", { method: "DELETE", body: '{"a":1}' }],
  ])("%d after %s is followed as browsers do", async (status, method, expected) => {
    const base = await serverOf((request, response) =>
      request.url === "/start"
        ? void response.writeHead(status, { location: "/end?x=1" }).end()
        : echo(request, response),
    );
    const answer = await clientOf().send({ method, url: `${base}/start`, payload: { a: 1 } }, live());
    expect(answer.data).toMatchObject({ ...expected, url: "/end?x=1" });
  });

  test("credentials go along to the same origin, not to another", async () => {
    const other = await serverOf(echo);
    const base = await serverOf((request, response) => {
      if (request.url === "/same") response.writeHead(307, { location: "/echo" }).end();
      else if (request.url === "/other") response.writeHead(307, { location: other }).end();
      else echo(request, response);
    });
    const headers = { Authorization: "Bearer x", Cookie: "c=1", "X-Api-Key": "k", "X-Kept": "1" };
    const same = await clientOf().send({ method: "GET", url: `${base}/same`, headers }, live());
    const elsewhere = await clientOf().send({ method: "GET", url: `${base}/other`, headers }, live());
    expect(same.data).toMatchObject({ headers: { authorization: "Bearer x", "x-api-key": "k" } });
    const received = (elsewhere.data as unknown as Echoed).headers;
    expect(received["x-kept"]).toBe("1");
    expect(["authorization", "cookie", "x-api-key"].filter((name) => name in received)).toEqual([]);
  });

  test("a circle of redirects ends", async () => {
    const base = await serverOf((_request, response) => void response.writeHead(302, { location: "/" }).end());
    await expect(clientOf({ maxRedirects: 3 }).send({ method: "GET", url: base }, live())).rejects.toThrow(
      "more than 3 redirects",
    );
  });
});

describe("bounds", () => {
  test("an answer beyond the limit is refused, also when it was small on the wire", async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    const base = await serverOf((request, response) =>
      request.url === "/zip"
        ? void response.setHeader("content-encoding", "gzip").end(bomb)
        : void response.end("x".repeat(2000)),
    );
    const client = clientOf({ maxBytes: 1000 });
    for (const path of ["/", "/zip"]) {
      await expect(client.send({ method: "GET", url: base + path }, live())).rejects.toMatchObject({
        code: "resource_exhausted",
      });
    }
  });

  test("a server that never answers, and one that never finishes, is an answer with status 0", async () => {
    const base = await serverOf((request, response) => void (request.url === "/begun" && response.write("x")));
    for (const path of ["/", "/begun"]) {
      const answer = await clientOf({ timeoutMs: 50 }).send({ method: "GET", url: base + path }, live());
      expect(answer).toMatchObject({ status: 0, message: "no answer within 0.05 s" });
    }
  });

  test("a request ends as cancelled when its run does, and the server sees the connection go", async () => {
    const run = new AbortController();
    let isGone: (() => void) | undefined;
    const gone = new Promise<void>((resolve) => (isGone = resolve));
    const base = await serverOf((_request, response) => {
      response.on("close", () => isGone?.());
      run.abort();
    });
    await expect(clientOf().send({ method: "GET", url: base }, run.signal)).rejects.toMatchObject({
      code: "cancelled",
    });
    await gone;
  });

  test("a run that is over sends nothing", async () => {
    let requests = 0;
    const base = await serverOf((_request, response) => {
      requests += 1;
      response.end();
    });
    await expect(clientOf().send({ method: "GET", url: base }, AbortSignal.abort())).rejects.toMatchObject({
      code: "cancelled",
    });
    expect(requests).toBe(0);
  });

  test("no timer is left behind", async () => {
    const base = await serverOf(echo);
    const open = new Set<object>();
    const after = (delayMs: number, fire: () => void): CancelTimer => {
      const key = {};
      open.add(key);
      const cancel = systemClock.after(delayMs, fire);
      return () => {
        open.delete(key);
        cancel();
      };
    };
    const client = clientOf({}, { clock: { after } });
    await client.send({ method: "GET", url: base }, live());
    await client.stream({ method: "GET", url: base }, () => true, live());
    await client.send({ method: "GET", url: "file:///x" }, live()).catch(() => undefined);
    expect(open.size).toBe(0);
  });
});

describe("streams", () => {
  /** Sends the parts one by one, each after the one before was seen by the client. */
  function partsOf(parts: readonly string[]): { readonly serve: Serve; next: () => void } {
    const state = { next: (): void => undefined };
    const serve: Serve = (_request, response) => {
      let index = 0;
      state.next = () => {
        const part = parts[index];
        index += 1;
        if (part === undefined) response.end();
        else response.write(part);
      };
      state.next();
    };
    return { serve, next: () => state.next() };
  }

  test("lines arrive one by one while the answer is still under way", async () => {
    const source = partsOf(["data: 1\n", "data: 2\r\n", "last"]);
    const base = await serverOf(source.serve);
    const lines: string[] = [];
    const answered = clientOf().stream(
      { method: "GET", url: base },
      (line) => {
        lines.push(line);
        source.next();
        if (line === "data: 2") source.next();
        return true;
      },
      live(),
    );
    expect(await answered).toMatchObject({ status: 200, data: null });
    expect(lines).toEqual(["data: 1", "data: 2", "last"]);
  });

  test("returning false ends the stream and closes the connection", async () => {
    let isGone: (() => void) | undefined;
    const gone = new Promise<void>((resolve) => (isGone = resolve));
    const base = await serverOf((_request, response) => {
      response.on("close", () => isGone?.());
      response.write("one\ntwo\n");
    });
    const lines: string[] = [];
    await clientOf().stream({ method: "GET", url: base }, (line) => lines.push(line) > 9, live());
    expect(lines).toEqual(["one"]);
    await gone;
  });

  test("what the receiver throws is thrown, and ends the stream", async () => {
    const base = await serverOf((_request, response) => void response.write("one\n"));
    const stop = (): never => {
      throw new MeshError("aborted", "the script says no");
    };
    await expect(clientOf().stream({ method: "GET", url: base }, stop, live())).rejects.toMatchObject({
      message: "the script says no",
    });
  });

  test("a line without an end is refused", async () => {
    const base = await serverOf((_request, response) => void response.write("x".repeat(5000)));
    const stream = clientOf({ maxLineLength: 1000 }).stream({ method: "GET", url: base }, () => true, live());
    await expect(stream).rejects.toMatchObject({ code: "resource_exhausted" });
  });

  test("a stream that falls silent ends; one whose receiver is slow does not", async () => {
    const source = partsOf(["one\n", "two\n"]);
    const base = await serverOf(source.serve);
    const lines: string[] = [];
    const answer = await clientOf({ streamIdleMs: 50 }).stream(
      { method: "GET", url: base },
      async (line) => {
        lines.push(line);
        if (line === "one") {
          // Longer than the silence that is allowed, but the server is not to blame for it.
          await systemClock.sleep(120);
          source.next();
        }
        return true;
      },
      live(),
    );
    expect(lines).toEqual(["one", "two"]);
    expect(answer).toMatchObject({ status: 0, message: "no answer within 0.05 s" });
  });

  test("http.Stream hands each line to the process it names, until that returns 0", async () => {
    const base = await serverOf((_request, response) => void response.end("a\nb\nc\n"));
    const lines: Json[] = [];
    const registry = standardFor({ http: clientOf() });
    registry.register("scripts", {
      kind: "addressed",
      call: ({ args }) => {
        lines.push(args.json(0));
        return lines.length < 2 ? 1 : 0;
      },
    });
    const answer = await registry.call("http.Stream", ["GET", base, "scripts.feed.OnLine"], callerOf());
    expect(answer).toMatchObject({ status: 200 });
    expect(lines).toEqual(["a", "b"]);
    await expect(registry.call("http.Stream", ["GET", base, "script.feed.OnLine"], callerOf())).rejects.toThrow(
      "did you mean scripts",
    );
  });
});
