/** What can be known about compose.yaml and make-secrets.sh without a container engine. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse, parseDocument } from "yaml";
import { afterAll, describe, expect, test } from "vitest";

import { DEPLOY, read, ROOT, skipReason, optionsOf } from "./repository.ts";

const scratch = mkdtempSync(join(tmpdir(), "yao-compose-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

interface ComposeService {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string; readonly target: string };
  readonly profiles?: readonly string[];
  readonly user?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly disable?: boolean; readonly test?: readonly string[] };
  readonly restart?: string;
}

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

describe("compose.yaml", () => {
  const text = read("deploy/compose.yaml");
  const document = parseDocument(text, { merge: true, strict: true });
  const compose = parse(text, { merge: true }) as Compose;
  const services = Object.entries(compose.services);

  test("is YAML without errors or warnings", () => {
    expect(document.errors).toEqual([]);
    expect(document.warnings).toEqual([]);
  });

  test("has the four parts of a system and the one-off that makes the NATS configuration", () => {
    expect(Object.keys(compose.services).toSorted()).toEqual([
      "coordinator",
      "nats",
      "nats-config",
      "node",
      "postgres",
    ]);
  });

  test.each(services)("%s has a pinned image", (_name, service) => {
    const tag = service.image.split(":").slice(1).join(":");
    expect(tag).not.toBe("");
    expect(tag).not.toContain("latest");
  });

  test.each(services)("%s has a health check, or says that it has none", (_name, service) => {
    const check = service.healthcheck;
    expect(check?.disable === true || check?.test?.[0] === "CMD").toBe(true);
  });

  test.each(services)("%s names only networks, volumes, secrets and services that exist", (_name, service) => {
    for (const network of service.networks ?? []) expect(compose.networks).toHaveProperty(network);
    for (const secret of service.secrets ?? []) expect(compose.secrets).toHaveProperty(secret);
    for (const volume of service.volumes ?? []) expect(compose.volumes).toHaveProperty(volume.split(":")[0] ?? "");
    for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
      expect(compose.services).toHaveProperty(other);
      const isWaitable = compose.services[other]?.healthcheck?.disable !== true;
      expect(condition).toBe(isWaitable ? "service_healthy" : "service_completed_successfully");
    }
  });

  test("publishes the coordinator only, on loopback unless told otherwise", () => {
    expect(services.filter(([, service]) => service.ports !== undefined).map(([name]) => name)).toEqual([
      "coordinator",
    ]);
    for (const port of compose.services["coordinator"]?.ports ?? [])
      expect(port).toMatch(/^\$\{BIND_ADDRESS:-127\.0\.0\.1\}:/);
  });

  test("keeps the node away from PostgreSQL and NATS", () => {
    expect(compose.networks["inside"]?.internal).toBe(true);
    expect(compose.services["node"]?.networks).toEqual(["edge"]);
    for (const name of ["postgres", "nats"]) expect(compose.services[name]?.networks).toEqual(["inside"]);
  });

  test("keeps the trust keys away from the NATS server and from the node", () => {
    for (const name of ["nats", "node"]) {
      for (const volume of compose.services[name]?.volumes ?? []) expect(volume).not.toMatch(/^trust:/);
      expect(compose.services[name]?.volumes).not.toEqual([]);
    }
  });

  test("contains no secret: each comes from a file that make-secrets.sh makes", () => {
    const dir = join(scratch, "secrets");
    execFileSync("sh", [join(DEPLOY, "make-secrets.sh"), dir]);
    for (const secret of Object.values(compose.secrets)) {
      expect(existsSync(join(dir, secret.file.replace("./secrets/", "")))).toBe(true);
    }
    for (const [name, service] of services) {
      for (const key of Object.keys(service.environment ?? {})) {
        const isSecret = /PASSWORD|TOKEN|KEY|DATABASE_URL/.test(key);
        expect(isSecret ? `${name} ${key}` : "").toMatch(/^$|_FILE$/);
      }
    }
  });

  test("uses exactly the variables that .env.example explains", () => {
    const used = new Set([...text.matchAll(/\$\{(\w+)/g)].map((match) => match[1]));
    const explained = [...read("deploy/.env.example").matchAll(/^(\w+)=/gm)].map((match) => match[1]);
    expect([...used].toSorted()).toEqual(explained.toSorted());
  });

  test.each([
    ["coordinator", "coordinator/src/config.ts"],
    ["node", "node-agent/src/config.ts"],
  ])("gives %s only options that %s knows", (service, config) => {
    if (skipReason(existsSync(join(ROOT, config)) ? undefined : `${config} does not exist`, `options of ${service}`))
      return;
    const known = optionsOf(config);
    const given = Object.keys(compose.services[service]?.environment ?? {}).filter((name) => name.startsWith("YAO_"));
    expect(given.length).toBeGreaterThan(3);
    expect(given.filter((name) => !known.has(name) && !known.has(name.replace(/_FILE$/, "")))).toEqual([]);
  });
});

describe("make-secrets.sh", () => {
  test("makes strong secrets once and keeps them on a second run", () => {
    const dir = join(scratch, "kept");
    const script = join(DEPLOY, "make-secrets.sh");
    execFileSync("sh", [script, dir]);
    const first = readFileSync(join(dir, "postgres_password"), "utf8").trim();
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    expect(readFileSync(join(dir, "database_url"), "utf8")).toContain(`:${first}@postgres:5432/yao`);
    // The form that YAO_MASTER_KEY is refused without.
    expect(Buffer.from(readFileSync(join(dir, "master_key"), "utf8").trim(), "base64")).toHaveLength(32);
    expect(execFileSync("sh", [script, dir], { encoding: "utf8" })).toBe("");
    expect(readFileSync(join(dir, "postgres_password"), "utf8").trim()).toBe(first);
  });

  test("opens the folder to its owner only", () => {
    const dir = join(scratch, "closed");
    execFileSync("sh", [join(DEPLOY, "make-secrets.sh"), dir]);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
  });

  test("keeps the secrets out of the repository and out of the image", () => {
    expect(read("deploy/.gitignore").split("\n")).toEqual(expect.arrayContaining([".env", "secrets/"]));
    expect(
      read("deploy/Dockerfile.dockerignore")
        .split("\n")
        .find((line) => !line.startsWith("#")),
    ).toBe("*");
    expect(read("deploy/Dockerfile.dockerignore")).not.toContain("!deploy");
  });
});
