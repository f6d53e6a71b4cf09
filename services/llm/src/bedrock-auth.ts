/**
 * Who a Bedrock request is signed or sent as. The first that is set wins: an `authorization` header of the config, the
 * key (`ACCESS:SECRET[:TOKEN]` signs, anything else is a Bedrock API key), AWS_BEARER_TOKEN_BEDROCK, the AWS key pair.
 *
 * B1  What is incomplete or cannot be right is refused before anything is sent, naming the variable, never the value.
 */

import type { AwsCredentials } from "./aws-signature.ts";
import { ProviderError } from "./provider-error.ts";
import type { Env } from "./wire.ts";

/** How a request proves who sends it. */
export type BedrockAuth =
  | { readonly kind: "header" }
  | { readonly kind: "bearer"; readonly token: string }
  | { readonly kind: "sign"; readonly credentials: AwsCredentials };

/** Decides; see the file comment. */
export function bedrockAuth(hasHeader: boolean, apiKey: string | undefined, env: Env): BedrockAuth {
  if (hasHeader) return { kind: "header" };
  const key = apiKey?.trim() ?? "";
  if (key.includes(":")) return { kind: "sign", credentials: pairOf(key) };
  if (key !== "") return { kind: "bearer", token: checkedBearer(key, "the key") };
  const token = env["AWS_BEARER_TOKEN_BEDROCK"] ?? "";
  if (token !== "") return { kind: "bearer", token: checkedBearer(token, "AWS_BEARER_TOKEN_BEDROCK") };
  return { kind: "sign", credentials: envPair(env) };
}

/** What of the environment proves who sends a request, in the form of a key; empty when the call brings its own. */
export function bedrockEnvKey(hasHeader: boolean, apiKey: string | undefined, env: Env): string {
  if (hasHeader || (apiKey ?? "").trim() !== "") return "";
  const token = env["AWS_BEARER_TOKEN_BEDROCK"] ?? "";
  if (token !== "") return token;
  const pair = [env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], env["AWS_SESSION_TOKEN"]];
  return pair.filter((part) => part !== undefined && part !== "").join(":");
}

/** The region that a host names, else the environment's. */
export function bedrockRegion(host: string | undefined, env: Env): string {
  const named = host === undefined ? null : HOST.exec(host);
  const region = named?.[1] ?? (env["AWS_REGION"] || env["AWS_DEFAULT_REGION"] || "");
  if (/^[a-z]{2}[a-z0-9-]{2,30}$/.test(region)) return region;
  throw denied(
    "no AWS region is known; set AWS_REGION or use an address such as https://bedrock-runtime.us-east-1.amazonaws.com",
  );
}

const HOST =
  /(?:^|\.)bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.(?:vpce\.)?(?:amazonaws\.com(?:\.cn)?|api\.aws|api\.amazonwebservices\.com\.cn|amazonaws\.eu|amazonaws-eusc\.eu|c2s\.ic\.gov|sc2s\.sgov\.gov|cloud\.adc-e\.uk|csp\.hci\.ic\.gov)$/;

function pairOf(key: string): AwsCredentials {
  const [accessKeyId = "", secretAccessKey = "", ...rest] = key.split(":");
  // Session tokens hold no colon, but a wrong paste should not be cut silently.
  const sessionToken = rest.join(":");
  return checkedPair({ accessKeyId, secretAccessKey, sessionToken }, "the key (ACCESS:SECRET[:TOKEN])");
}

function envPair(env: Env): AwsCredentials {
  const accessKeyId = env["AWS_ACCESS_KEY_ID"] ?? "";
  const secretAccessKey = env["AWS_SECRET_ACCESS_KEY"] ?? "";
  if (accessKeyId === "" && secretAccessKey === "") {
    throw denied(
      "no credentials for Bedrock; set a key (a Bedrock API key or ACCESS:SECRET), AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    );
  }
  if (accessKeyId === "") throw denied("AWS_SECRET_ACCESS_KEY is set but AWS_ACCESS_KEY_ID is not");
  if (secretAccessKey === "") throw denied("AWS_ACCESS_KEY_ID is set but AWS_SECRET_ACCESS_KEY is not");
  const sessionToken = env["AWS_SESSION_TOKEN"] ?? "";
  return checkedPair({ accessKeyId, secretAccessKey, sessionToken }, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
}

function checkedPair(pair: Required<AwsCredentials>, name: string): AwsCredentials {
  const { accessKeyId, secretAccessKey, sessionToken } = pair;
  if (accessKeyId === "" || secretAccessKey === "") throw denied(`${name} is only half of a pair`);
  for (const value of [accessKeyId, secretAccessKey, sessionToken]) {
    if (!/^[\x21-\x7e]*$/.test(value))
      throw denied(`${name} holds a character that cannot be sent (a line break or a space?)`);
  }
  if (accessKeyId.startsWith("ASIA") && sessionToken === "") {
    throw denied(`${name} is a temporary key and needs its session token (AWS_SESSION_TOKEN)`);
  }
  return { accessKeyId, secretAccessKey, ...(sessionToken === "" ? {} : { sessionToken }) };
}

// A secret that is sent as a bearer token is a secret that is given away.
function checkedBearer(token: string, name: string): string {
  if (/[^\x21-\x7e]/.test(token))
    throw denied(`${name} holds a character that cannot be sent (a line break or a space?)`);
  if (/^(AKIA|ASIA)/.test(token)) throw denied(`${name} is an access key id; give the pair as ACCESS:SECRET`);
  if (!/^[A-Za-z0-9+/=_-]+$/.test(token)) throw denied(`${name} is not a Bedrock API key`);
  if (token.length === 40) throw denied(`${name} looks like a secret access key; give the pair as ACCESS:SECRET`);
  return token;
}

function denied(message: string): ProviderError {
  return new ProviderError({ errorClass: "auth", message });
}
