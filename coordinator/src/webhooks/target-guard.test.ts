import { expect, test } from "vitest";

import { findTarget, networksOf, readTargetUrl } from "./target-guard.ts";

const NONE = networksOf([]);
const to =
  (...addresses: readonly string[]) =>
  async (): Promise<readonly string[]> =>
    addresses;

const FORBIDDEN = [
  "127.0.0.1",
  "127.8.8.8",
  "0.0.0.0",
  "10.1.2.3",
  "100.64.0.1",
  "100.100.100.200",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "192.0.0.192",
  "198.18.0.1",
  "224.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::ffff:127.0.0.1",
  "::ffff:10.0.0.1",
  "::ffff:8.8.8.8",
  "::127.0.0.1",
  "64:ff9b::7f00:1",
  "64:ff9b::a9fe:a9fe",
  "2002:7f00:1::",
  "2001:0:4136:e378:8000:63bf:3fff:fdd2",
  "fc00::1",
  "fd00:ec2::254",
  "fe80::1",
  "ff02::1",
];

test.each(FORBIDDEN)("T1 a name that leads to %s is refused", async (address) => {
  await expect(findTarget(new URL("https://hooks.example.com/"), NONE, to(address))).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining("YAO_WEBHOOK_ALLOW"),
  });
});

test.each([
  "https://127.0.0.1/",
  "https://0x7f.1/",
  "https://2130706433/",
  "https://017700000001/",
  "https://[::1]/",
  "https://[::ffff:7f00:1]/",
  "https://169.254.169.254/latest/meta-data",
])("T1 %s is refused without asking for a name", async (text) => {
  const asked = async (): Promise<never> => {
    throw new Error("asked");
  };
  await expect(findTarget(readTargetUrl(text), NONE, asked)).rejects.toMatchObject({ code: "invalid_argument" });
});

test("public addresses are reached over https, and only over https", async () => {
  const url = new URL("https://hooks.example.com/");
  expect(await findTarget(url, NONE, to("93.184.216.34"))).toMatchObject({ address: "93.184.216.34", family: 4 });
  expect(await findTarget(url, NONE, to("2606:4700::1111"))).toMatchObject({ family: 6 });
  // One name may have both kinds of address: only the public one is used.
  expect(await findTarget(url, NONE, to("10.0.0.1", "93.184.216.34"))).toMatchObject({ address: "93.184.216.34" });
  await expect(findTarget(new URL("http://hooks.example.com/"), NONE, to("93.184.216.34"))).rejects.toThrow("https");
  await expect(findTarget(url, NONE, to())).rejects.toThrow("has no address");
});

test("a network that the operator allows is reached, also over http, and no other", async () => {
  const allowed = networksOf(["127.0.0.0/8", "10.9.8.7", "fd00::/8"]);
  const url = new URL("http://hooks.example.com/");
  for (const address of ["127.0.0.1", "10.9.8.7", "fd12::1"]) {
    expect(await findTarget(url, allowed, to(address))).toMatchObject({ address });
  }
  for (const address of ["10.9.8.8", "192.168.0.1", "::1"]) {
    await expect(findTarget(url, allowed, to(address))).rejects.toThrow();
  }
});

test("what is no network is refused, saying how to write one", () => {
  for (const text of ["localhost", "10.0.0.0/33", "fd00::/129", "10.0.0", "1.2.3.4/-1"]) {
    expect(() => networksOf([text])).toThrow("write one such as");
  }
});

test("addresses that can never be a webhook's are refused when they are given", () => {
  for (const text of ["ftp://example.com", "example.com", "javascript:alert(1)", "https://user:pw@example.com"]) {
    expect(() => readTargetUrl(text)).toThrow();
  }
  expect(readTargetUrl("https://example.com/a?b#c").href).toBe("https://example.com/a?b");
});
