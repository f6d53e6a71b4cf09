/** Which addresses scripts may reach. Pure. */

import { BlockList, isIP } from "node:net";

/**
 * Decides about one address: asked with the URL alone before anything is sent, and with every address its name resolves
 * to before a connection is made, so that a name cannot point somewhere forbidden.
 */
export type AllowUrl = (url: URL, address?: string) => boolean;

/** Services that hand out a machine's credentials to whoever asks from it; link-local addresses have no other users. */
const METADATA = new BlockList();
METADATA.addSubnet("169.254.0.0", 16, "ipv4");
METADATA.addAddress("100.100.100.200", "ipv4");
METADATA.addAddress("192.0.0.192", "ipv4");
METADATA.addSubnet("fe80::", 10, "ipv6");
METADATA.addSubnet("fd00:ec2::", 32, "ipv6");
// The same IPv4 range as seen through NAT64, 6to4 and the deprecated "compatible" form.
METADATA.addSubnet("64:ff9b::a9fe:0", 112, "ipv6");
METADATA.addSubnet("2002:a9fe::", 32, "ipv6");
METADATA.addSubnet("::a9fe:0", 112, "ipv6");

const METADATA_NAMES = new Set(["metadata", "metadata.google.internal", "metadata.goog", "instance-data"]);

/** The default: http and https anywhere, the device's own network included, but no metadata service. */
export function allowUrl(url: URL, address?: string): boolean {
  if (url.protocol !== "http:" && url.protocol !== "https:") return false;
  const host = address ?? url.hostname.replace(/^\[|\]$/g, "");
  const family = isIP(host);
  if (family === 0) return !METADATA_NAMES.has(host.toLowerCase().replace(/\.$/, ""));
  return !METADATA.check(host, family === 4 ? "ipv4" : "ipv6");
}
