import { AwsV4Signer } from "aws4fetch";
import { expect, test } from "vitest";

import { awsAuthorization, sha256Hex } from "./aws-signature.ts";

// The published test suite's credentials, day and place.
const SUITE = {
  credentials: { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" },
  region: "us-east-1",
  service: "service",
  amzDate: "20150830T123600Z",
};
const SCOPE = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request";

test.each([
  [
    "get-vanilla",
    "GET",
    "/",
    {},
    "host;x-amz-date",
    "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
  ],
  [
    "post-vanilla",
    "POST",
    "/",
    {},
    "host;x-amz-date",
    "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
  ],
  [
    "get-header-key-duplicate",
    "GET",
    "/",
    { "my-header1": "value2,value2,value1" },
    "host;my-header1;x-amz-date",
    "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
  ],
  [
    "get-header-value-multiline",
    "GET",
    "/",
    { "my-header1": "value1,value2,value3" },
    "host;my-header1;x-amz-date",
    "ba17b383a53190154eb5fa66a1b836cc297cc0a3d70a5d00705980573d8ff790",
  ],
  [
    "get-vanilla-query-order-key-case",
    "GET",
    "/?Param2=value2&Param1=value1",
    {},
    "host;x-amz-date",
    "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
  ],
  [
    "get-relative-relative (normalized)",
    "GET",
    "/example1/example2/../..",
    {},
    "host;x-amz-date",
    "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
  ],
])("the published vector %s is signed", async (...row) => {
  const [, method, path, headers, signed, signature] = row;
  const url = new URL(`https://example.amazonaws.com${path}`);
  const given: Record<string, string> = { ...headers, "x-amz-date": SUITE.amzDate };
  const authorization = await awsAuthorization({ method, url, headers: given, body: "" }, SUITE);
  expect(authorization).toBe(`${SCOPE}, SignedHeaders=${signed}, Signature=${signature}`);
});

test("a model id with colons and slashes is signed as a second implementation signs it", async () => {
  const id = encodeURIComponent("arn:aws:bedrock:us-west-2:1:inference-profile/us.anthropic.claude-sonnet-4-5-v1:0");
  const url = new URL(`https://bedrock-runtime.us-west-2.amazonaws.com/model/${id}/converse-stream`);
  const body = '{"messages":[{"text":"Grüße"}]}';
  const headers = {
    "content-type": "application/json",
    "x-amz-date": SUITE.amzDate,
    "x-amz-content-sha256": await sha256Hex(body),
    "x-amz-security-token": "token==",
  };
  const scope = { ...SUITE, region: "us-west-2", service: "bedrock" };
  const ours = await awsAuthorization({ method: "POST", url, headers, body }, scope);
  const { "x-amz-security-token": sessionToken, "x-amz-date": datetime, ...sent } = headers;
  const theirs = await new AwsV4Signer({
    method: "POST",
    url: url.href,
    headers: sent,
    body,
    ...SUITE.credentials,
    sessionToken,
    service: "bedrock",
    region: "us-west-2",
    datetime,
    allHeaders: true,
  }).authHeader();
  expect(ours).toBe(theirs);
});
