/** Health, readiness, metrics and the OpenAPI document: routes beside the operation table. */

import { MeshError } from "@mesh/kernel";
import type { Metrics } from "@mesh/observability";
import type { FastifyInstance, FastifyRequest } from "fastify";

import { type DocsPage, docsPage } from "./docs-page.ts";
import { admitted, type HttpDeps } from "./http-server.ts";
import { openApiDocument } from "./openapi.ts";
import { describeProblem } from "./problem.ts";

/** Whether the coordinator can serve, and why not. */
export interface Readiness {
  readonly ok: boolean;
  readonly reasons: readonly string[];
}

/** What these routes tell. */
export interface HealthDeps extends Pick<HttpDeps, "admission"> {
  readonly ready: () => Readiness;
  readonly metrics: Metrics;
  readonly version: string;
}

/** Adds the routes. */
export function addHealthRoutes(app: FastifyInstance, deps: HealthDeps): void {
  app.get("/healthz", async () => ({ status: "ok" }));
  app.get("/readyz", async (_request, reply) => {
    const { ok, reasons } = deps.ready();
    return reply.code(ok ? 200 : 503).send({ status: ok ? "ready" : "not ready", reasons });
  });
  app.get("/metrics", async (request, reply) => {
    if (!isLocal(request)) await admitted(deps, { scope: "read" }, request, reply);
    return reply.type(deps.metrics.contentType).send(await deps.metrics.render());
  });
  addDocuments(app, deps.version);
}

function addDocuments(app: FastifyInstance, version: string): void {
  let document: string | undefined;
  app.get("/v1/openapi.json", async (_request, reply) => {
    document ??= JSON.stringify(openApiDocument(version));
    return reply.type("application/json; charset=utf-8").send(document);
  });
  let page: DocsPage | undefined;
  app.get("/v1/docs", async (_request, reply) => {
    page ??= docsPage(JSON.parse(JSON.stringify(openApiDocument(version))) as Readonly<Record<string, unknown>>);
    void reply.header("content-security-policy", page.contentSecurityPolicy);
    return reply.type("text/html; charset=utf-8").send(page.html);
  });
  app.get("/v1/problems/:problem", async (request, reply) => {
    const { problem = "" } = request.params as Readonly<Record<string, string>>;
    const described = describeProblem(problem);
    if (described === undefined) throw new MeshError("not_found", "there is no such type of problem");
    return reply.type("application/json; charset=utf-8").send(JSON.stringify(described));
  });
}

/** From this machine, and not through a proxy on it that speaks for someone else. */
function isLocal(request: FastifyRequest): boolean {
  const { headers } = request;
  if (headers["x-forwarded-for"] !== undefined || headers.forwarded !== undefined) return false;
  return request.ip === "127.0.0.1" || request.ip === "::1" || request.ip === "::ffff:127.0.0.1";
}
