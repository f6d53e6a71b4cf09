/** The routes of the OpenAPI document that a mesh serves, and how tests call them. */

import type { TestMesh } from "../harness/test-mesh.ts";

/** One operation as the document has it. */
export interface RouteOperation {
  readonly operationId: string;
  readonly security?: readonly unknown[];
  readonly "x-scope"?: string;
  readonly "x-assistant-tokens"?: boolean;
}

/** One route. */
export interface Route {
  readonly verb: string;
  readonly path: string;
  readonly operation: RouteOperation;
}

/** What is sent to a route. */
export interface RouteCall {
  readonly token: string;
  /** Values of path parameters; `absent` where there is none. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: unknown;
}

/** An answer. */
export interface RouteAnswer {
  readonly status: number;
  readonly text: string;
}

/** Every named route that a mesh documents. */
export async function documentRoutes(mesh: TestMesh): Promise<readonly Route[]> {
  const document = await mesh.api.call<{ paths: Record<string, Record<string, RouteOperation>> }>(
    "GET",
    "/v1/openapi.json",
  );
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .map(([verb, operation]) => ({ verb: verb.toUpperCase(), path, operation }))
      .filter(({ operation }) => operation.operationId !== undefined),
  );
}

/** Names of the path parameters of a route. */
export function parametersOf({ path }: Route): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? "");
}

/** Calls a route. */
export async function callRoute(
  mesh: TestMesh,
  route: Route,
  { token, path = {}, query = "", body }: RouteCall,
): Promise<RouteAnswer> {
  const url = route.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(path[name] ?? "absent"));
  const hasBody = route.verb !== "GET" && route.verb !== "DELETE";
  const isBytes = body instanceof Uint8Array;
  const response = await fetch(`${mesh.api.url}${url}${query}`, {
    method: route.verb,
    headers: {
      ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
      ...(hasBody ? { "content-type": isBytes ? "application/octet-stream" : "application/json" } : {}),
    },
    ...(hasBody ? { body: isBytes ? Buffer.from(body) : JSON.stringify(body ?? {}) } : {}),
  });
  return { status: response.status, text: await response.text() };
}
