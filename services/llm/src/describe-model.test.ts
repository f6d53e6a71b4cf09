import { expect, test } from "vitest";

import { describeModel } from "./describe-model.ts";
import { ProviderRegistry } from "./provider.ts";
import { createProviders } from "./providers.ts";
import { callOf } from "./testing/index.ts";
import { API_PROTOCOLS } from "./message.ts";
import { systemClock } from "@mesh/kernel";

test("a described model names its headers and extra fields, and shows no value of them", () => {
  const { model } = callOf(
    {
      api: "demo",
      headers: { authorization: "Bearer secret-1" },
      extraBody: { token: "secret-2" },
      baseUrl: "https://u:secret-3@h/v1?key=secret-4",
    },
    [],
  );
  const text = JSON.stringify(describeModel(model));
  expect(text).not.toContain("secret");
  expect(describeModel(model)).toMatchObject({
    id: "m-1",
    headers: ["authorization"],
    extraBody: ["token"],
    baseUrl: "https://h/v1",
    priced: false,
  });
  expect(JSON.parse(JSON.stringify(model))).toEqual(model);
});

test("every protocol has a provider that reports it; an empty registry names what is missing", () => {
  const providers = createProviders({ clock: systemClock });
  for (const protocol of API_PROTOCOLS) expect(providers.resolve(protocol).protocol).toBe(protocol);
  expect(new Set(providers.list())).toEqual(new Set(API_PROTOCOLS));
  expect(() => new ProviderRegistry().resolve("google-vertex")).toThrow(
    "no provider speaks google-vertex; none is registered",
  );
});
