import { expect, test } from "vitest";

import { allowedEnv } from "./allowed-env.ts";

test("apps see variables meant for connectors and those the owner listed, never the mesh's own", () => {
  const env = {
    OPENAI_API_KEY: "k",
    OLLAMA_HOST: "h",
    DEFAULT_LLM: "m",
    HTTPS_PROXY: "p",
    AWS_SECRET_ACCESS_KEY: "s",
    PATH: "/bin",
    MY_REGION: "eu",
    YAO_NODE_TOKEN: "t",
    YAO_TOKEN_API_KEY: "t",
    EMPTY_MODEL: undefined,
  };
  expect(allowedEnv(env, ["MY_REGION", "YAO_NODE_TOKEN"])).toEqual({
    OPENAI_API_KEY: "k",
    OLLAMA_HOST: "h",
    DEFAULT_LLM: "m",
    HTTPS_PROXY: "p",
    MY_REGION: "eu",
  });
});
