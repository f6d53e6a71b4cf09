/** Errors of JSON-RPC: the codes the protocol gives a meaning to, and an error that carries one. */

/** The codes by what they say. */
export const RPC_CODE = {
  /** Also the code for whatever HTTP says better. */
  connectionClosed: -32_000,
  sessionNotFound: -32_001,
  resourceNotFound: -32_002,
  parse: -32_700,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
} as const;

/** An error for the other side. The SDK's own class would put its code into the text as well, once on each side. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
