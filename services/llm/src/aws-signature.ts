/** AWS Signature Version 4 for requests with a body, over Web Crypto: pure, no clock. */

/** Who signs. */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** What is signed. */
export interface SignedRequest {
  readonly method: string;
  readonly url: URL;
  /** Lower-case names; all of them are signed. `host` is added. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Where and when. */
export interface SigningScope {
  readonly credentials: AwsCredentials;
  readonly region: string;
  readonly service: string;
  /** `20150830T123600Z`. */
  readonly amzDate: string;
}

const encoder = new TextEncoder();

/** The `authorization` header of a request. */
export async function awsAuthorization(request: SignedRequest, scope: SigningScope): Promise<string> {
  const { credentials, region, service, amzDate } = scope;
  const headers: Record<string, string> = { ...request.headers, host: request.url.host };
  const names = Object.keys(headers).toSorted();
  const canonical = [
    request.method,
    canonicalPath(request.url.pathname),
    canonicalQuery(request.url.searchParams),
    ...names.map((name) => `${name}:${(headers[name] ?? "").trim().replaceAll(/\s+/g, " ")}`),
    "",
    names.join(";"),
    await sha256Hex(request.body),
  ].join("\n");
  const day = amzDate.slice(0, 8);
  const place = `${day}/${region}/${service}/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", amzDate, place, await sha256Hex(canonical)].join("\n");
  let key: Uint8Array<ArrayBuffer> = encoder.encode(`AWS4${credentials.secretAccessKey}`);
  for (const part of [day, region, service, "aws4_request"]) key = await hmac(key, part);
  const signature = hex(await hmac(key, toSign));
  return `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${place}, SignedHeaders=${names.join(";")}, Signature=${signature}`;
}

/** SHA-256 of a text, as hex digits. */
export async function sha256Hex(text: string): Promise<string> {
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text))));
}

// The path as it is on the wire, normalised and then encoded once more: `%3A` is signed as `%253A`.
function canonicalPath(pathname: string): string {
  const segments: string[] = [];
  for (const segment of pathname.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(encodeRfc3986(segment));
  }
  const path = `/${segments.join("/")}`;
  return pathname.endsWith("/") && path !== "/" ? `${path}/` : path;
}

function canonicalQuery(query: URLSearchParams): string {
  return [...query]
    .map(([name, value]) => [encodeRfc3986(name), encodeRfc3986(value)] as const)
    .toSorted(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : x > y ? 1 : 0))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

function encodeRfc3986(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

async function hmac(key: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array<ArrayBuffer>> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, encoder.encode(text)));
}

function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
