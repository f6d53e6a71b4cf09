export { bearer, callUnary, type ClientCallOptions, type ClientMethod, readStream } from "./client.ts";
export { type Contract, type ContractField, type ContractMethod, readContract, type ValueType } from "./contract.ts";
export { grpcServe, type RpcCall, type RpcService, type RpcStreaming, type RpcUnary, type ServeDeps } from "./serve.ts";
export { createRpcServer, type RpcServer, type RpcServerOptions, type ServerTls } from "./server.ts";
export { ERROR_CODE_KEY, fromStatus, internalText, REQUEST_ID_KEY, toStatus } from "./status.ts";
