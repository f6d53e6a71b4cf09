/** The join token as a person pastes it: `yj_<secret>`, or `yj_<secret>.<pin>` when the coordinator has a certificate. */

import { MeshError } from "@mesh/kernel";

/** A token taken apart. */
export interface JoinToken {
  /** The part the coordinator knows. */
  readonly secret: string;
  /** base64url SHA-256 of the coordinator's SubjectPublicKeyInfo. */
  readonly pin: string | undefined;
}

const SHAPE = /^(yj_[A-Za-z0-9_-]{16,128})(?:\.([A-Za-z0-9_-]{43}))?$/;

/** Splits a token, or says what is wrong without repeating it. */
export function parseJoinToken(text: string): JoinToken {
  const match = SHAPE.exec(text.trim());
  if (match?.[1] === undefined) {
    throw new MeshError(
      "invalid_argument",
      "that is not a join token (it starts with yj_); make one with: yao node token create",
    );
  }
  return { secret: match[1], pin: match[2] };
}

/** The coordinator's address in one canonical form; http and https only. */
export function parseCoordinatorUrl(text: string): string {
  let url: URL;
  try {
    url = new URL(text.includes("://") ? text : `https://${text}`);
  } catch (error) {
    throw new MeshError("invalid_argument", `"${text}" is not an address such as https://mesh.example.com`, {
      cause: error,
    });
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new MeshError(
      "invalid_argument",
      `the coordinator's address starts with https:// or http://, not ${url.protocol}//`,
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw new MeshError("invalid_argument", "leave user name and password out of the coordinator's address");
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}
