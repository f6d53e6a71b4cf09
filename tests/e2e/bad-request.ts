/** Requests that the gateway must refuse, each with one mistake, and what the refusal says. */

/** Where runs of the default workspace are. */
const RUNS = "/v1/workspaces/default/runs";
/** A run id that nobody has. */
export const UNKNOWN_RUN = `run_${"0".repeat(26)}`;

/** A request as a client may send it, well-formed or not. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: string | Buffer<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request with a JSON body. */
export const json = (method: string, path: string, body: unknown): Sent => ({
  method,
  path,
  body: JSON.stringify(body),
});

/** What is wrong, the request, the status and code it gets, and what the refusal says. */
export type BadRequest = readonly [what: string, sent: Sent, answer: string, says: RegExp];

/** A request for a run of the demo app. */
export const run = (more: Record<string, unknown>): Sent =>
  json("POST", RUNS, { assistant: "hello", input: "hi", ...more });
const events = (id: string, cursor: string): Sent => ({
  method: "GET",
  path: `/v1/runs/${id}/events`,
  headers: { accept: "text/event-stream", "last-event-id": cursor },
});

/** Requests with one mistake each. */
export const BAD_REQUESTS: readonly BadRequest[] = [
  [
    "an unknown workspace",
    json("POST", "/v1/workspaces/nowhere/runs", { assistant: "hello" }),
    "404 not_found",
    /workspace "?nowhere"? .*yao workspace list/,
  ],
  [
    "an unknown run",
    { method: "GET", path: `/v1/runs/${UNKNOWN_RUN}` },
    "404 not_found",
    /run_0+ was not found, or this token may not use it; see: yao runs list/,
  ],
  ["something that is no run id", { method: "GET", path: "/v1/runs/..%2f..%2fetc" }, "404 not_found", /was not found/],
  ["an unknown assistant", run({ assistant: "nobody" }), "404 not_found", /assistant "nobody".*yao app push/],
  ["an unknown device", run({ requirements: { node: "toaster" } }), "404 not_found", /device "toaster".*yao node list/],
  [
    "a bad label of a run",
    run({ requirements: { labels: { "bad key!": "x" } } }),
    "400 invalid_argument",
    /requirements\.labels\.bad key! is not a label name: use/,
  ],
  [
    "a bad label value of a join token",
    json("POST", "/v1/node-tokens", { labels: { site: "a b" } }),
    "400 invalid_argument",
    /labels\.site is not a label value: use/,
  ],
  [
    "a bad label of a device",
    json("PATCH", "/v1/nodes/alpha", { labels: { "-": "x" } }),
    "400 invalid_argument",
    /labels\.- is not a label name/,
  ],
  [
    "too many labels",
    run({ requirements: { labels: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`l${i}`, "x"])) } }),
    "400 invalid_argument",
    /more than 32 labels/,
  ],
  [
    "text where a number belongs",
    run({ timeout_seconds: "soon" }),
    "400 invalid_argument",
    /timeout_seconds must be a whole number/,
  ],
  ["a number where text belongs", run({ input: 7 }), "400 invalid_argument", /input must be of type string/],
  ["a list where an object belongs", run({ metadata: [] }), "400 invalid_argument", /metadata must be of type/],
  ["a body that is a list", json("POST", RUNS, []), "400 invalid_argument", /the body must be a JSON object/],
  [
    "a body that is not JSON",
    { method: "POST", path: RUNS, body: '{"assistant": ' },
    "400 invalid_argument",
    /the body is not JSON/,
  ],
  [
    "a body of another type",
    { ...run({}), headers: { "content-type": "text/plain" } },
    "415 invalid_argument",
    /application\/json/,
  ],
  [
    "no body where one is needed",
    { method: "POST", path: "/v1/workspaces" },
    "400 invalid_argument",
    /name is required/,
  ],
  ["an unknown field", run({ asistant: "hello" }), "400 invalid_argument", /asistant is not a known field/],
  [
    "a field that stands in the path with another value",
    run({ workspace: "other" }),
    "400 invalid_argument",
    /workspace stands in the path already/,
  ],
  [
    "an unknown query parameter",
    { method: "GET", path: `${RUNS}?page=2` },
    "400 invalid_argument",
    /page is not a known field/,
  ],
  [
    "a limit out of range",
    { method: "GET", path: `${RUNS}?limit=9999` },
    "400 invalid_argument",
    /limit is more than 200/,
  ],
  [
    "an unknown state",
    { method: "GET", path: `${RUNS}?state=asleep` },
    "400 invalid_argument",
    /state must be one of: queued/,
  ],
  [
    "an unknown policy for lost devices",
    run({ on_lost: "panic" }),
    "400 invalid_argument",
    /on_lost must be one of: hold, replace, fail/,
  ],
  ["an oversized JSON body", run({ input: "x".repeat(1_200_000) }), "413 resource_exhausted", /at most 1 MB of JSON/],
  [
    "an oversized input",
    run({ input: "x".repeat(300_000) }),
    "400 invalid_argument",
    /input is longer than 262144 characters/,
  ],
  [
    "an oversized bundle",
    {
      method: "POST",
      path: "/v1/workspaces/default/apps/big/versions",
      body: Buffer.alloc(34 * 1024 * 1024),
      headers: { "content-type": "application/octet-stream" },
    },
    "413 resource_exhausted",
    /33 MB for an app bundle/,
  ],
  [
    "metadata nested too deep",
    run({ metadata: JSON.parse(`${'{"a":'.repeat(40)}1${"}".repeat(40)}`) as unknown }),
    "400 invalid_argument",
    /metadata is nested deeper than 32 levels/,
  ],
  ["a NUL in the input", run({ input: "a\u0000b" }), "400 invalid_argument", /input holds a NUL/],
  [
    "an oversized idempotency key",
    { ...run({}), headers: { "idempotency-key": "k".repeat(300) } },
    "400 invalid_argument",
    /idempotency_key is longer than 200/,
  ],
  [
    "a malformed Last-Event-ID",
    events(UNKNOWN_RUN, "seven"),
    "400 invalid_argument",
    /Last-Event-ID must be the number of the last event/,
  ],
  ["a negative Last-Event-ID", events(UNKNOWN_RUN, "-1"), "400 invalid_argument", /Last-Event-ID must be the number/],
  [
    "a Last-Event-ID beyond all numbers",
    events(UNKNOWN_RUN, "9999999999"),
    "400 invalid_argument",
    /after_seq is more than/,
  ],
  ["a wrong path", { method: "GET", path: "/v1/nonsense" }, "404 not_found", /\/v1\/openapi\.json/],
  ["a wrong method", { method: "PUT", path: RUNS, body: "{}" }, "405 unimplemented", /use (POST or GET|GET or POST)/],
  [
    "a bad workspace name",
    json("POST", "/v1/workspaces", { name: "Not Good" }),
    "400 invalid_argument",
    /name must be 1 to 63 lower-case letters/,
  ],
  [
    "a workspace name that is taken",
    json("POST", "/v1/workspaces", { name: "default" }),
    "409 already_exists",
    /choose another name/,
  ],
  [
    "deletion of the default workspace",
    { method: "DELETE", path: "/v1/workspaces/default" },
    "409 failed_precondition",
    /default one and stays/,
  ],
  [
    "an unknown scope",
    json("POST", "/v1/tokens", { name: "x", scopes: ["god"] }),
    "400 invalid_argument",
    /must be one of: read, runs/,
  ],
  [
    "an unknown user for a membership",
    json("PUT", "/v1/workspaces/default/members/nobody", { role: "owner" }),
    "404 not_found",
    /yao token create --user nobody/,
  ],
  [
    "a connector host that is no URL",
    json("PUT", "/v1/workspaces/default/connectors/x", { type: "openai", host: "api example" }),
    "400 invalid_argument",
    /host must be a URL such as/,
  ],
  [
    "a connector key among its options",
    json("PUT", "/v1/workspaces/default/connectors/x", { type: "openai", options_json: '{"key":"k"}' }),
    "400 invalid_argument",
    /must not hold "key"/,
  ],
  [
    "a join token that lives for ever",
    json("POST", "/v1/node-tokens", { ttl_seconds: 1 }),
    "400 invalid_argument",
    /ttl_seconds must be 60 to 604800 seconds/,
  ],
  ["a drain of nobody", json("POST", "/v1/nodes/nobody/drain", {}), "404 not_found", /yao node list/],
  [
    "an app name that is none",
    {
      method: "POST",
      path: "/v1/workspaces/default/apps/Bad%20Name/versions",
      body: Buffer.from("x"),
      headers: { "content-type": "application/octet-stream" },
    },
    "400 invalid_argument",
    /app must be 1 to 63 lower-case/,
  ],
  [
    "a bundle that is none",
    {
      method: "POST",
      path: "/v1/workspaces/default/apps/odd/versions",
      body: Buffer.from("not gzip"),
      headers: { "content-type": "application/octet-stream" },
    },
    "400 invalid_argument",
    /this is not an app bundle/,
  ],
  [
    "an empty bundle",
    {
      method: "POST",
      path: "/v1/workspaces/default/apps/odd/versions",
      headers: { "content-type": "application/octet-stream" },
    },
    "400 invalid_argument",
    /send the bundle as the body/,
  ],
];
