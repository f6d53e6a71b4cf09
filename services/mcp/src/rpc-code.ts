/** JSON-RPC error codes the protocol gives a meaning to. */

/** The codes by what they say. */
export const RPC_CODE = {
  connectionClosed: -32_000,
  resourceNotFound: -32_002,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
} as const;
