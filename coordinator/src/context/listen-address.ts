/** Addresses that the coordinator listens on, as others call them. Pure. */

import { MeshError } from "@mesh/kernel";

import type { CoordinatorConfig } from "../config.ts";

/** Where people reach this coordinator from this machine. */
export function urlOf(config: CoordinatorConfig, port: number, isTls: boolean): string {
  return `${isTls ? "https" : "http"}://${reachable(config.host)}:${port}`;
}

/** A host to call; an address that means "all" is none. */
export function reachable(host: string): string {
  return host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
}

/** Reads `YAO_NATS_WS`. */
export function parseHostPort(text: string): { host: string; port: number } {
  const at = text.lastIndexOf(":");
  const port = Number(text.slice(at + 1));
  if (at <= 0 || !Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new MeshError("invalid_argument", `YAO_NATS_WS must be host:port, not "${text}"`);
  }
  return { host: text.slice(0, at), port };
}
