/**
 * What scripts of assistants see: types, and names to import.
 *
 * Inside a run these names are what the run provides; here they only say so. Importing this package, or naming it in
 * `types` of a tsconfig.json, also declares the same names as globals.
 */

import "./global.ts";

export type * as agent from "./agent.ts";
export { Context } from "./context.ts";
export { Exception } from "./exception.ts";
export { FS } from "./fs.ts";
export type { CreateResponse, NextResponse, Payload } from "./hook.ts";
export { http, type HttpFile, type HttpHeaders, type HttpQuery, type HttpResponse } from "./http.ts";
export { $L } from "./locale.ts";
export { log, time } from "./log.ts";
export { MCP } from "./mcp.ts";
export type { Message } from "./message.ts";
export { All, Any, Process, type ProcessRequest, type ProcessResult, Race } from "./process.ts";
export { type Page, Query } from "./query.ts";
export { Store } from "./store.ts";
export type * as testing from "./testing.ts";
export { Trace, type TraceNode, type TraceNodeOption } from "./trace.ts";
export { Authorized, Use } from "./use.ts";
