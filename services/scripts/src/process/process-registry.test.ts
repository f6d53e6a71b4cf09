import { type Json, MeshError } from "@mesh/kernel";
import { expect, test, vi } from "vitest";

import { addressedGroup, functionGroup } from "./process-group.ts";
import { ProcessRegistry } from "./process-registry.ts";
import { callerOf } from "./testing/caller.ts";
import { standardFor } from "./testing/standard.ts";

function registryOf(): ProcessRegistry {
  const registry = new ProcessRegistry({ maxArgs: 3, maxSize: 100, maxDepth: 5 });
  registry.register(
    "utils",
    functionGroup({ "str.UUID": () => "id", "str.Join": () => "joined", "now.Date": () => "today" }),
  );
  registry.register(
    "models",
    addressedGroup(({ id, method }) => `${method} of ${id}`, ["Find", "Get", "Paginate"]),
  );
  registry.register(
    "scripts",
    addressedGroup(({ id, method }) => `${method} in ${id}`),
  );
  registry.register("agent", functionGroup({ Call: (args) => args.values }));
  return registry;
}

test.each([
  ["utils.str.UUID", "id"],
  ["UTILS.STR.uuid", "id"],
  ["models.agents.my-assistant.order.paginate", "Paginate of agents.my-assistant.order"],
  ["Models.user.FIND", "Find of user"],
  ["models.Get", "Get of "],
  ["scripts.tests.seed.LoadTestData", "LoadTestData in tests.seed"],
  ["scripts.loadTestData", "loadTestData in "],
])("%s is found: groups and known methods in any case, ids and functions as written", async (name, expected) => {
  expect(await registryOf().call(name, [], callerOf())).toBe(expected);
});

test.each([
  ["utils.str.UID", /no process "utils\.str\.UID"; did you mean utils\.str\.UUID\? \(utils: str\.UUID, str\.Join\)/],
  ["util.str.UUID", /did you mean utils\? \(groups: utils, models, scripts, agent\)/],
  ["models.user.Fnd", /did you mean models\.user\.Find\? \(models: Find, Get, Paginate\)/],
  [
    "models.user.nothing.at.all",
    /there is no process "models\.user\.nothing\.at\.all" \(models: Find, Get, Paginate\)/,
  ],
  ["models", /no process "models"/],
  ["scripts.", /no process "scripts\."/],
  ["scripts.a.", /no process "scripts\.a\."/],
  ["constructor", /no process "constructor"/],
  ["utils.__proto__", /no process/],
  ["", /no process ""/],
])("the unknown name %j is refused with what there is", async (name, message) => {
  const error = await registryOf()
    .call(name, [], callerOf())
    .catch((it: unknown) => it);
  expect(error).toBeInstanceOf(MeshError);
  expect(error).toMatchObject({ code: "not_found", message: expect.stringMatching(message) as string });
});

test("a name that no person writes is refused before it is looked up", async () => {
  await expect(registryOf().call("a".repeat(10_000), [], callerOf())).rejects.toThrow("at most 256 characters");
});

function nested(levels: number): Json {
  let value: Json = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

test.each<[string, readonly Json[], RegExp]>([
  ["too many", [1, 2, 3, 4], /at most 3 arguments/],
  ["too large", ["x".repeat(101)], /arguments of agent\.Call is larger than 100/],
  ["too large in small parts", [Array.from({ length: 100 }, () => 1)], /larger than 100/],
  ["too many keys", [Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`key${i}`, 1]))], /larger than 100/],
  ["too deep", [nested(6)], /deeper than 5/],
  ["deep enough to overflow a stack", [nested(200_000)], /deeper than 5/],
])("arguments that are %s are refused", async (_title, args, message) => {
  await expect(registryOf().call("agent.Call", args, callerOf())).rejects.toThrow(message);
});

test("a result beyond the bounds is refused", async () => {
  const registry = registryOf();
  registry.register("big", functionGroup({ Text: () => "x".repeat(101), Deep: () => nested(200_000) }));
  await expect(registry.call("big.Text", [], callerOf())).rejects.toThrow("the result of big.Text is larger than 100");
  await expect(registry.call("big.Deep", [], callerOf())).rejects.toThrow("deeper than 5");
});

test("a call whose run is over does not start", async () => {
  const registry = registryOf();
  const serve = vi.fn(() => null);
  registry.register("slow", functionGroup({ Work: serve }));
  await expect(registry.call("slow.Work", [], callerOf({}, AbortSignal.abort()))).rejects.toMatchObject({
    code: "cancelled",
  });
  expect(serve).not.toHaveBeenCalled();
});

test("what a handler throws leaves as a MeshError; its own code is kept", async () => {
  const registry = registryOf();
  registry.register(
    "bad",
    functionGroup({
      Own: () => Promise.reject(new MeshError("aborted", "try again")),
      Other: () => {
        throw new TypeError("x is not a function");
      },
    }),
  );
  await expect(registry.call("bad.Own", [], callerOf())).rejects.toMatchObject({
    code: "aborted",
    message: "try again",
  });
  await expect(registry.call("bad.Other", [], callerOf())).rejects.toMatchObject({
    name: "MeshError",
    code: "internal",
  });
});

test("a group cannot be registered twice, in any case", () => {
  expect(() => registryOf().register("UTILS", functionGroup({}))).toThrow("already");
});

test("nothing and null are different results", async () => {
  const registry = registryOf();
  registry.register("none", functionGroup({ Nothing: () => undefined, Null: () => null }));
  expect(await registry.call("none.Nothing", [], callerOf())).toBeUndefined();
  expect(await registry.call("none.Null", [], callerOf())).toBeNull();
});

test("the standard registry serves these processes", () => {
  const registry = standardFor({ query: { run: () => Promise.resolve([]) } });
  const listed = Object.fromEntries(registry.names().map((group) => [group, registry.names(group).join(" ")]));
  expect(listed).toMatchInlineSnapshot(`
    {
      "crypto": "Hash HMAC HMACWith AES256Encrypt AES256Decrypt RSA2Sign RSA2Verify",
      "encoding": "base64.Encode base64.Decode hex.Encode hex.Decode json.Encode json.Decode json.Parse json.Repair yaml.Encode yaml.Decode",
      "http": "Get Head Post Put Patch Delete Send Stream",
      "query": "Get Run Paginate First",
      "session": "ID Get Has Set Del GetMany SetMany Dump",
      "stores": "Get GetDel Set Has Del Keys Len Clear GetMulti SetMulti DelMulti Incr Decr Push AddToSet Pop Pull PullAll ArrayLen ArrayAll ArrayGet ArraySet ArraySlice ArrayPage",
      "text": "Extract ExtractFirst ExtractByType ExtractJSON",
      "utils": "str.Concat str.Join str.JoinPath str.Hex str.UUID arr.Get arr.Unique arr.Column arr.Keep arr.Split arr.Pluck arr.MapSet arr.Tree map.Get map.Set map.Keys map.Values map.Del map.DelMany map.Array tree.Flatten url.ParseQuery url.ParseURL now.Date now.Time now.DateTime now.Timestamp now.Timestampms env.Get env.GetMany jwt.Make jwt.Verify throw.BadRequest throw.Unauthorized throw.Forbidden throw.NotFound throw.InternalError throw.Exception",
    }
  `);
});
