/** The part of http_ece that tests read push messages with. */

declare module "http_ece" {
  import type { ECDH } from "node:crypto";

  /** Decrypts a body of RFC 8188. */
  export function decrypt(
    body: Buffer,
    params: { readonly version: "aes128gcm"; readonly privateKey: ECDH; readonly authSecret: Buffer },
  ): Buffer;
}
