/**
 * What can be known about deploy/ and the documents without a container engine: their syntax by the tools that will read them,
 * where those are installed, and that the names in them exist in the code.
 */

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, get as httpGet, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { get as httpsGet } from "node:https";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";

import { until } from "@mesh/kernel";
import { WebSocket, WebSocketServer } from "ws";
import { parse, parseDocument } from "yaml";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../..");
const DEPLOY = join(ROOT, "deploy");

const scratch = mkdtempSync(join(tmpdir(), "yao-deploy-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

function isInstalled(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).error === undefined;
}

/** Prints why a test does not run; silence would look like success. */
function skipReason(reason: string | undefined, what: string): boolean {
  if (reason !== undefined) console.info(`skipped: ${what}: ${reason}`);
  return reason !== undefined;
}

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

/** The environment names of an option table, read as text. */
function optionsOf(config: string): Set<string | undefined> {
  return new Set([...read(config).matchAll(/\benv: "(YAO_[A-Z0-9_]+)"/g)].map((match) => match[1]));
}

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

describe("Dockerfile", () => {
  const text = read("deploy/Dockerfile").replaceAll(/\\\n/g, " ");
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const stages = splitStages(lines);

  test("consists of known instructions", () => {
    for (const line of lines) {
      expect(line.trim()).toMatch(/^(ARG|FROM|WORKDIR|COPY|RUN|ENV|USER|VOLUME|EXPOSE|HEALTHCHECK|ENTRYPOINT|CMD)\b/);
    }
  });

  test("starts from one image, pinned to the Node version of this repository", () => {
    const version = read(".node-version").trim();
    expect(lines[0]).toBe(`ARG NODE_IMAGE=node:${version}-bookworm-slim`);
    for (const { base } of stages.values()) {
      expect([...stages.keys(), "${NODE_IMAGE}"]).toContain(base);
    }
  });

  test("copies the manifest of every workspace before it installs", () => {
    const { workspaces } = JSON.parse(read("package.json")) as { workspaces: string[] };
    for (const workspace of workspaces) {
      expect(stages.get("manifests")?.lines).toContain(`COPY ${workspace}/package.json ${workspace}/`);
    }
  });

  test("copies only what the ignore file lets through", () => {
    const allowed = [...read("deploy/Dockerfile.dockerignore").matchAll(/^!(.+)$/gm)].map((match) => match[1] ?? "");
    const copied = lines.filter((line) => line.startsWith("COPY ") && !line.includes("--from="));
    for (const source of copied.flatMap((line) => line.split(/\s+/).slice(1, -1))) {
      expect(
        allowed.some((path) => source === path || source.startsWith(`${path}/`)),
        source,
      ).toBe(true);
    }
  });

  test("copies from stages that exist", () => {
    for (const match of text.matchAll(/--from=(\S+)/g)) expect([...stages.keys()]).toContain(match[1]);
  });

  test("installs by the lock file and runs no install scripts", () => {
    for (const match of text.matchAll(/(?<!\.)\bnpm ([a-z]\w*)([^\n]*)/g)) {
      expect(match[1]).toBe("ci");
      expect(match[2]).toContain("--ignore-scripts");
    }
  });

  test.each([
    ["coordinator", "coordinator/dist/main.js"],
    ["node", "services/cli/dist/main.js"],
  ])("the image %s runs %s as an ordinary user and states its health", (target, script) => {
    const own = stages.get(target)?.lines ?? [];
    const runtime = stages.get("runtime")?.lines ?? [];
    expect(stages.get(target)?.base).toBe("runtime");
    expect(runtime.at(-1)).toBe("USER node");
    expect(own.some((line) => line.startsWith("HEALTHCHECK "))).toBe(true);
    expect(own.find((line) => line.startsWith("ENTRYPOINT "))).toContain(`"${script}"`);
    const source = script.replace("/dist/", "/src/").replace(/\.js$/, ".ts");
    if (!skipReason(existsSync(join(ROOT, source)) ? undefined : `${source} does not exist`, `entry of ${target}`)) {
      expect(statSync(join(ROOT, source)).isFile()).toBe(true);
    }
  });

  test.each([
    ["coordinator", "coordinator/src/config.ts"],
    ["node", "node-agent/src/config.ts"],
  ])("the image %s sets only options that %s or the command line knows", (target, config) => {
    const cli = "services/cli/src/config.ts";
    const absent = [config, cli].find((path) => !existsSync(join(ROOT, path)));
    if (skipReason(absent === undefined ? undefined : `${absent} does not exist`, `options of ${target}`)) return;
    const known = new Set([...optionsOf(config), ...optionsOf(cli)]);
    const set = [...(stages.get(target)?.lines ?? []).join("\n").matchAll(/\b(YAO_[A-Z_]+)=/g)].map(
      (match) => match[1],
    );
    expect(set.length).toBeGreaterThan(0);
    expect(set.filter((name) => !known.has(name))).toEqual([]);
  });

  test("compose builds stages that exist", () => {
    const compose = parse(read("deploy/compose.yaml"), { merge: true }) as Compose;
    for (const { build } of Object.values(compose.services)) {
      if (build !== undefined) expect([...stages.keys()]).toContain(build.target);
    }
  });
});

interface Stage {
  readonly base: string;
  readonly lines: string[];
}

function splitStages(lines: readonly string[]): Map<string, Stage> {
  const stages = new Map<string, Stage>();
  let current: Stage | undefined;
  for (const line of lines) {
    const from = /^FROM (\S+) AS (\S+)$/.exec(line);
    if (from !== null) {
      current = { base: from[1] ?? "", lines: [] };
      stages.set(from[2] ?? "", current);
    } else {
      current?.lines.push(line);
    }
  }
  return stages;
}

describe("systemd units", () => {
  const units = readdirSync(join(DEPLOY, "systemd")).filter((name) => name.endsWith(".service"));
  const missing = isInstalled("systemd-analyze", "--version") ? undefined : "systemd-analyze is not installed";

  test.each(units)("%s passes systemd-analyze verify", (unit) => {
    if (skipReason(missing, `verify ${unit}`)) return;
    // The command of the unit is not installed here; verify wants it to exist.
    const path = join(scratch, unit);
    writeFileSync(path, read(`deploy/systemd/${unit}`).replaceAll("/usr/local/bin/yao", process.execPath));
    const result = spawnSync("systemd-analyze", ["verify", "--man=no", path], { encoding: "utf8" });
    expect(`${result.stdout}${result.stderr}`).toBe("");
    expect(result.status).toBe(0);
  });

  test.each(units)("%s does not forbid what V8 needs and lets the process stop its own children", (unit) => {
    const settings = settingsOf(read(`deploy/systemd/${unit}`));
    expect(settings.get("MemoryDenyWriteExecute")).toBeUndefined();
    expect(settings.get("KillMode")).toBe("mixed");
    expect(settings.get("NoNewPrivileges")).toBe("yes");
    expect(settings.get("User")).not.toBe("root");
    expect(settings.get("StateDirectory")).toBe(settings.get("User"));
  });

  test("a removed node is not started again", () => {
    expect(settingsOf(read("deploy/systemd/yao-node.service")).get("RestartPreventExitStatus")).toBe("77");
  });
});

function settingsOf(unit: string): Map<string, string> {
  return new Map([...unit.matchAll(/^(\w+)=(.*)$/gm)].map((match) => [match[1] ?? "", match[2] ?? ""]));
}

describe("proxy configurations", () => {
  const nginxMissing = ["nginx", "openssl"].find(
    (command) => !isInstalled(command, command === "nginx" ? "-v" : "version"),
  );
  const noNginx = nginxMissing === undefined ? undefined : `${nginxMissing} is not installed`;
  const noCaddy = isInstalled("caddy", "version") ? undefined : "caddy is not installed";

  test("no proxy forwards /metrics, which is open to local requests", () => {
    expect(read("deploy/proxy/nginx.conf")).toMatch(/location = \/metrics \{\s*return 404;/);
    expect(read("deploy/proxy/Caddyfile")).toMatch(/handle \/metrics \{\s*respond 404/);
  });

  test("caddy accepts the Caddyfile", () => {
    if (skipReason(noCaddy, "caddy validate")) return;
    const args = ["validate", "--adapter", "caddyfile", "--config", join(DEPLOY, "proxy/Caddyfile")];
    const result = spawnSync("caddy", args, { encoding: "utf8", env: { PATH: process.env["PATH"], HOME: scratch } });
    expect(result.status, result.stderr).toBe(0);
  });

  test("nginx passes events at once, WebSocket both ways, and gRPC, and hides /metrics", async () => {
    if (skipReason(noNginx, "nginx")) return;
    const backend = await startBackend();
    const grpc = await startGrpcBackend();
    const port = await startNginx({ http: backend.port, grpc });
    const options = { rejectUnauthorized: false };

    const events = await new Promise<IncomingMessage>((onResponse, reject) => {
      httpsGet(`https://127.0.0.1:${port}/v1/runs/r/events`, options, onResponse).on("error", reject);
    });
    // The backend has written one event and keeps the response open: a buffering proxy would hand over nothing.
    expect(await firstChunk(events)).toBe("id: 1\ndata: {}\n\n");
    events.destroy();

    for (const path of ["/nats", "/v1/ws"]) {
      const socket = new WebSocket(`wss://127.0.0.1:${port}${path}`, options);
      const echo = await new Promise<string>((onMessage, reject) => {
        socket.on("open", () => socket.send("ping")).on("error", reject);
        socket.on("message", (data: Buffer) => onMessage(data.toString()));
      });
      expect(echo).toBe("ping");
      socket.terminate();
    }

    const hidden = await new Promise<IncomingMessage>((onResponse, reject) => {
      httpsGet(`https://127.0.0.1:${port}/metrics`, options, onResponse).on("error", reject);
    });
    expect(hidden.statusCode).toBe(404);
    hidden.destroy();

    for (const service of ["yao.mesh.v1.RunService/GetRun", "grpc.health.v1.Health/Check"]) {
      expect(await callGrpc(port, `/${service}`)).toBe("0");
    }
  }, 20_000);
});

async function listen(server: Server | ReturnType<typeof createHttp2Server>): Promise<number> {
  await new Promise<void>((onListening) => server.listen(0, "127.0.0.1", onListening));
  return (server.address() as AddressInfo).port;
}

async function startBackend(): Promise<{ readonly port: number }> {
  const handler: RequestListener = (request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("id: 1\ndata: {}\n\n");
    if (request.url === "/metrics") response.end();
  };
  const server = createServer(handler);
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket) => socket.on("message", (data) => socket.send(data)));
  onTestFinished(() => {
    for (const client of sockets.clients) client.terminate();
    server.closeAllConnections();
    server.close();
  });
  return { port: await listen(server) };
}

async function startGrpcBackend(): Promise<number> {
  const server = createHttp2Server();
  const sessions = new Set<{ destroy: () => void }>();
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end();
  });
  onTestFinished(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return listen(server);
}

async function startNginx(ports: { readonly http: number; readonly grpc: number }): Promise<number> {
  const dir = mkdtempSync(join(scratch, "nginx-"));
  const key = join(dir, "key.pem");
  const cert = join(dir, "cert.pem");
  const subject = ["-newkey", "rsa:2048", "-nodes", "-subj", "/CN=mesh.example.com", "-days", "1"];
  execFileSync("openssl", ["req", "-x509", ...subject, "-keyout", key, "-out", cert], { stdio: "ignore" });
  const [https, plain] = await freePorts(2);
  const site = read("deploy/proxy/nginx.conf")
    .replaceAll("127.0.0.1:7400", `127.0.0.1:${ports.http}`)
    .replaceAll("127.0.0.1:7401", `127.0.0.1:${ports.grpc}`)
    .replaceAll(/listen 443/g, `listen 127.0.0.1:${https}`)
    .replaceAll(/listen 80;/g, `listen 127.0.0.1:${plain};`)
    .replaceAll(/^\s*listen \[::\].*$/gm, "")
    .replaceAll("/etc/ssl/yao/fullchain.pem", cert)
    .replaceAll("/etc/ssl/yao/privkey.pem", key);
  const temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${dir}/${name};`);
  const config = join(dir, "nginx.conf");
  writeFileSync(
    config,
    `daemon off; master_process off; pid ${dir}/pid; error_log ${dir}/error.log;
     events {} http { access_log off; ${temp.join(" ")} ${site} }`,
  );
  const checked = spawnSync("nginx", ["-t", "-e", join(dir, "start.log"), "-c", config], { encoding: "utf8" });
  expect(checked.status, checked.stderr).toBe(0);
  const child = spawn("nginx", ["-e", join(dir, "start.log"), "-c", config], { stdio: "ignore" });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  await until(() => canConnect(plain ?? 0), { what: "nginx listens", timeoutMs: 5000 });
  return https ?? 0;
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, () => {
      const server = createTcpServer();
      return new Promise<typeof server>((onListening) => server.listen(0, "127.0.0.1", () => onListening(server)));
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((onClose) => server.close(onClose))));
  return ports;
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const request = httpGet(`http://127.0.0.1:${port}/`, (response) => {
      response.destroy();
      answer(true);
    });
    request.on("error", () => answer(false));
  });
}

function firstChunk(response: IncomingMessage): Promise<string> {
  return new Promise((onChunk, reject) => {
    response.once("data", (chunk: Buffer) => onChunk(chunk.toString())).once("error", reject);
  });
}

/** The gRPC status a call through the proxy ends with. */
function callGrpc(port: number, path: string): Promise<string> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  onTestFinished(() => session.destroy());
  return new Promise((onStatus, reject) => {
    session.on("error", reject);
    const call = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    call.on("trailers", (trailers) => onStatus(String(trailers["grpc-status"])));
    call.on("error", reject);
    call.on("response", (headers) => {
      if ("grpc-status" in headers) onStatus(String(headers["grpc-status"]));
    });
    call.resume().end();
  });
}

describe("documents", () => {
  const own = ["CONTRIBUTING.md", "SECURITY.md", ...markdownIn("docs")];

  test.each(own)("every relative link of %s leads somewhere", (file) => {
    const targets = [...read(file).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map((match) => match[1] ?? "");
    const local = targets.filter((target) => !/^[a-z]+:/.test(target));
    expect(local.filter((target) => !existsSync(resolve(ROOT, dirname(file), target)))).toEqual([]);
  });

  test.each(markdownIn("docs/adr"))("%s states context, decision and consequences on one page", (file) => {
    const text = read(file);
    expect([...text.matchAll(/^## (.+)$/gm)].map((match) => match[1])).toEqual(["Context", "Decision", "Consequences"]);
    expect(text.split("\n").length).toBeLessThanOrEqual(60);
    expect(text).toMatch(new RegExp(`^# ${Number(/(\d{4})-/.exec(file)?.[1])}\\. `));
  });

  test("docs/architecture.md shows the edges that the architecture test enforces", () => {
    const table = [...read("docs/architecture.md").matchAll(/^\| `([\w/-]+)` +\| [^|]+ \| ([^|]*[^| ]) *\|$/gm)];
    const shown = Object.fromEntries(
      table.map((row) => [row[1], row[2] === "nothing" ? [] : row[2]?.split(", ").toSorted()]),
    );
    const source = /const ALLOWED[^{]*\{([\s\S]*?)\n\};/.exec(read("tests/architecture.test.ts"))?.[1] ?? "";
    const rows = [...source.matchAll(/^\s*"?([\w/-]+)"?: \[([^\]]*)\]/gm)];
    const enforced = Object.fromEntries(
      rows.map((row) => [row[1], [...(row[2] ?? "").matchAll(/"([\w-]+)"/g)].map((name) => name[1]).toSorted()]),
    );
    expect(Object.keys(enforced).length).toBeGreaterThan(5);
    expect(shown).toEqual(enforced);
  });
});

function markdownIn(dir: string): string[] {
  if (!existsSync(join(ROOT, dir))) return [];
  return readdirSync(join(ROOT, dir), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => relative(ROOT, join(ROOT, dir, name)));
}
