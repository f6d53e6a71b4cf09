import { expect, test } from "vitest";

import { inheritedEnv } from "./inherited-env.ts";

test("a child gets what programs need, and nothing that could be a secret", () => {
  const needed = {
    PATH: "/bin",
    HOME: "/h",
    LC_TIME: "C",
    TZ: "UTC",
    SSL_CERT_FILE: "/c",
    Path: "C:\\",
    TERM: "xterm",
  };
  const secret = {
    YAO_TOKEN: "s",
    NATS_URL: "s",
    DATABASE_URL: "s",
    AWS_SECRET_ACCESS_KEY: "s",
    HTTPS_PROXY: "http://user:s@host",
    NODE_OPTIONS: "--require s",
    LD_PRELOAD: "s",
    MY_PATH: "s",
    PATH_X: "s",
  };
  expect(inheritedEnv({ ...needed, ...secret, LANG: undefined })).toEqual(needed);
});

test("more is inherited when it is named, in any case", () => {
  expect(inheritedEnv({ HTTPS_PROXY: "a", https_proxy: "b", NO_PROXY: "c" }, ["https_proxy"])).toEqual({
    HTTPS_PROXY: "a",
    https_proxy: "b",
  });
});
