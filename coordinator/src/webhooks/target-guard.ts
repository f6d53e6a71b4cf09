/**
 * Which addresses a webhook or a push message may go to.
 *
 * T1  Only public addresses over https, so that nobody reads or moves anything inside of the coordinator's own network; and the
 *     networks that the operator names in `YAO_WEBHOOK_ALLOW`, over http as well.
 * T2  A name is resolved once, and the connection is made to the very address that was looked at.
 */

import { BlockList, isIP } from "node:net";

import { MeshError } from "@mesh/kernel";

/** Addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** Where a message goes. */
export interface Target {
  readonly url: URL;
  /** The address to connect to. */
  readonly address: string;
  readonly family: 4 | 6;
}

const PRIVATE = new BlockList();
for (const [net, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const) {
  PRIVATE.addSubnet(net, bits, "ipv4");
}
// Of IPv6 only what is given to the public internet is public, and what hides an IPv4 address in it is not.
const PUBLIC6 = new BlockList();
PUBLIC6.addSubnet("2000::", 3, "ipv6");
const HIDDEN6 = new BlockList();
HIDDEN6.addSubnet("2001::", 23, "ipv6");
HIDDEN6.addSubnet("2001:db8::", 32, "ipv6");
HIDDEN6.addSubnet("2002::", 16, "ipv6");
HIDDEN6.addSubnet("3fff::", 20, "ipv6");

/** Networks as `10.0.0.0/8` or single addresses; throws for anything else. */
export function networksOf(texts: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of texts) {
    const [, address = "", bits] = /^([0-9a-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
    const family = isIP(address);
    const most = family === 4 ? 32 : 128;
    if (family === 0 || Number(bits ?? most) > most) {
      throw new MeshError("invalid_argument", `"${text}" is no network; write one such as 127.0.0.0/8 or fd00::/8`);
    }
    list.addSubnet(address, Number(bits ?? most), family === 4 ? "ipv4" : "ipv6");
  }
  return list;
}

/** Reads the address of a webhook; throws `invalid_argument` for what can never be one. */
export function readTargetUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw refused("the address must be a URL such as https://example.com/hooks");
  }
  if (url.username !== "" || url.password !== "") {
    throw refused("the address must not hold a name or a password; check the signature instead");
  }
  url.hash = "";
  return url;
}

/** Finds the address to connect to; throws `invalid_argument` where there is none that may be reached. */
export async function findTarget(url: URL, allowed: BlockList, resolve: Resolve): Promise<Target> {
  const host = url.hostname.replaceAll(/^\[|\]$/g, "");
  const addresses = isIP(host) === 0 ? await resolve(host) : [host];
  const own = addresses.find((address) => isIn(allowed, address));
  const address = own ?? addresses.find(isPublic);
  if (address === undefined) {
    throw refused(
      addresses.length === 0
        ? `${host} has no address`
        : `${host} is inside of a private network; name its network in YAO_WEBHOOK_ALLOW if the coordinator may call it`,
    );
  }
  if (own === undefined && url.protocol !== "https:") {
    throw refused("what is sent over the internet must be encrypted: use https://");
  }
  return { url, address, family: isIP(address) === 4 ? 4 : 6 };
}

function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
}

function isPublic(address: string): boolean {
  if (isIP(address) === 4) return !PRIVATE.check(address, "ipv4");
  return isIP(address) === 6 && PUBLIC6.check(address, "ipv6") && !HIDDEN6.check(address, "ipv6");
}

function refused(message: string): MeshError {
  return new MeshError("invalid_argument", message);
}
