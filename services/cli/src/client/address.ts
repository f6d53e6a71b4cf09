/** Addresses of coordinators as people type them. Pure. */

import { MeshError } from "@mesh/kernel";

/** Where `yao up` listens unless told otherwise. */
export const LOCAL_URL = "http://127.0.0.1:7400";

/** The origin of a typed address; `mesh.example.com` means https, a bare loopback host means http. */
export function parseAddress(text: string): string {
  const withScheme = /^[a-z]+:\/\//i.test(text) ? text : `${isLoopbackText(text) ? "http" : "https"}://${text}`;
  let url: URL;
  try {
    url = new URL(withScheme);
  } catch {
    throw new MeshError("invalid_argument", `"${text}" is not an address — use one such as ${LOCAL_URL}`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new MeshError("invalid_argument", `"${text}" is not an HTTP address — use one such as ${LOCAL_URL}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new MeshError("invalid_argument", "an address holds no password — give the token with --token");
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** Whether a token sent to this address crosses a network in the clear. */
export function isCleartext(url: string): boolean {
  return new URL(url).protocol === "http:" && !isLoopback(url);
}

/** Whether an address is this device's own. */
export function isLoopback(url: string): boolean {
  return isLoopbackText(new URL(url).hostname);
}

function isLoopbackText(text: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])([:/]|$)/i.test(text);
}
