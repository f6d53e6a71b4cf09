/** A database per test file, cloned from a template that is migrated once per server and state of the migrations. */

import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type postgres from "postgres";

import { openSql } from "../connection.ts";
import { migrate } from "../migrate.ts";

/** A migrated, empty database of its own. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
  /** Removes it, cutting any connection left open. */
  drop(): Promise<void>;
}

/** Makes a database on the server that `YAO_TEST_DATABASE_URL` (a superuser's URL) names. */
export async function testDatabase(): Promise<TestDatabase> {
  const server = serverUrl();
  const template = `yao_template_${migrationsDigest()}`;
  const name = `yao_test_${randomBytes(6).toString("hex")}`;
  await onServer(server, async (sql) => {
    await ensureTemplate(sql, server, template);
    await sql.unsafe(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  });
  const drop = (): Promise<void> =>
    onServer(server, async (sql) => {
      await sql.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    });
  return { url: withDatabase(server, name), drop, [Symbol.asyncDispose]: drop };
}

/** The same without any table, for tests of the migrations themselves. */
export async function emptyTestDatabase(): Promise<TestDatabase> {
  const server = serverUrl();
  const name = `yao_empty_${randomBytes(6).toString("hex")}`;
  await onServer(server, async (sql) => {
    await sql.unsafe(`CREATE DATABASE ${name}`);
  });
  const drop = (): Promise<void> =>
    onServer(server, async (sql) => {
      await sql.unsafe(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    });
  return { url: withDatabase(server, name), drop, [Symbol.asyncDispose]: drop };
}

function serverUrl(): string {
  const url = process.env["YAO_TEST_DATABASE_URL"];
  if (url === undefined || url === "") {
    throw new Error("YAO_TEST_DATABASE_URL is not set: run these tests with `npx vitest run --project infra`");
  }
  return url;
}

async function onServer(url: string, work: (sql: postgres.Sql) => Promise<void>): Promise<void> {
  const sql = openSql({ url, maxConnections: 1, applicationName: "yao tests", statementTimeoutMs: 60_000 });
  try {
    await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

// Test files run in parallel processes: the first one builds the template, the others wait for the lock.
async function ensureTemplate(sql: postgres.Sql, server: string, template: string): Promise<void> {
  await sql`SELECT pg_advisory_lock(hashtext(${template}))`;
  try {
    const found = await sql`SELECT 1 FROM pg_database WHERE datname = ${template} AND datistemplate`;
    if (found.length > 0) return;
    await sql.unsafe(`DROP DATABASE IF EXISTS ${template} WITH (FORCE)`);
    await sql.unsafe(`CREATE DATABASE ${template}`);
    await migrate(withDatabase(server, template));
    // Set last: a template left half made by a killed run is not taken for a good one.
    await sql.unsafe(`ALTER DATABASE ${template} IS_TEMPLATE true`);
  } finally {
    await sql`SELECT pg_advisory_unlock(hashtext(${template}))`;
  }
}

function withDatabase(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.toString();
}

function migrationsDigest(): string {
  const dir = join(import.meta.dirname, "../migrations");
  const hash = createHash("sha256");
  for (const file of readdirSync(dir).toSorted()) hash.update(file).update(readFileSync(join(dir, file)));
  return hash.digest("hex").slice(0, 12);
}
