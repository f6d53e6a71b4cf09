/** That everything cases name is there: hooks, validators, simulators, scripts, connectors. All problems at once. */

import type { App } from "@mesh/assistants";
import { MeshError } from "@mesh/kernel";

import type { Assertion, EvalCase, SourcePlace } from "../eval-case.ts";
import type { EvalHost, FunctionRef } from "../host.ts";
import { nearest } from "../load/field-reader.ts";
import type { LoadProblem } from "../load/problem.ts";
import { hookTarget } from "../run/hook-target.ts";

/** What was found. */
export interface ResolvedNames {
  readonly hooks: ReadonlyMap<string, FunctionRef>;
  readonly problems: readonly LoadProblem[];
}

interface Mention {
  readonly place: SourcePlace;
  readonly label: string;
}

const NO_CONNECTORS: ReadonlySet<string> = new Set();
const NO_PLACE: SourcePlace = { file: "", line: 0 };

/** Resolves every name; `global` are hooks of the whole eval, by the flag that names them. */
export async function resolveNames(
  cases: readonly EvalCase[],
  about: { readonly agentId: string; readonly global: readonly { readonly flag: string; readonly name: string }[] },
  host: EvalHost,
): Promise<ResolvedNames> {
  const resolver = new Resolver(host, about.agentId);
  for (const { flag, name } of about.global) await resolver.hook(name, { place: NO_PLACE, label: flag });
  for (const test of cases) {
    const mention = { place: test.place, label: test.id };
    for (const name of [test.before, test.after]) if (name !== undefined) await resolver.hook(name, mention);
    const { connector } = test.options;
    if (typeof connector === "string") resolver.connector(connector, mention);
    for (const assertion of test.assertions) await resolver.assertion(assertion, mention);
    if (test.dialogue === undefined) continue;
    const { simulator, checkpoints } = test.dialogue;
    resolver.agent(simulator.agentId, "simulator", mention);
    if (simulator.connector !== undefined) resolver.connector(simulator.connector, mention);
    for (const { assertions } of checkpoints) for (const each of assertions) await resolver.assertion(each, mention);
  }
  return { hooks: resolver.hooks, problems: resolver.problems };
}

class Resolver {
  readonly hooks = new Map<string, FunctionRef>();
  readonly problems: LoadProblem[] = [];
  readonly #host: EvalHost;
  readonly #agentId: string;
  /** What was looked at, with its problem. */
  readonly #known = new Map<string, string | undefined>();

  constructor(host: EvalHost, agentId: string) {
    this.#host = host;
    this.#agentId = agentId;
  }

  async hook(name: string, mention: Mention): Promise<void> {
    await this.#once(`hook ${name}`, mention, async () => {
      const target = hookTarget(name, this.#agentId, this.#host.app);
      if ("problem" in target) return target.problem;
      const problem = await this.#functionProblem(target.ref);
      if (problem === undefined) this.hooks.set(name, target.ref);
      return problem;
    });
  }

  agent(id: string, role: string, mention: Mention): void {
    const { assistants } = this.#host.app;
    if (assistants.has(id)) return;
    this.#refuse(mention, `the ${role} "${id}" is no assistant of the app${meantText(id, [...assistants.keys()])}`);
  }

  connector(id: string, mention: Mention): void {
    const { app, connectors: more = NO_CONNECTORS } = this.#host;
    if (id === "" || id === "demo" || id.startsWith("use::") || app.connectors.has(id) || more.has(id)) return;
    this.#refuse(
      mention,
      `the connector "${id}" is not in connectors/${meantText(id, [...app.connectors.keys(), ...more, "demo"])}`,
    );
  }

  async assertion(assertion: Assertion, mention: Mention): Promise<void> {
    if (assertion.type === "agent") {
      this.agent(assertion.agentId, "validator", mention);
      if (assertion.connector !== undefined) this.connector(assertion.connector, mention);
    }
    if (assertion.type !== "script") return;
    const { script } = assertion;
    await this.#once(`script ${script}`, mention, async () => {
      const ref = processTarget(script, this.#agentId, this.#host.app);
      return ref === undefined ? `there is no script behind "${script}"` : this.#functionProblem(ref);
    });
  }

  async #functionProblem({ path, fn }: FunctionRef): Promise<string | undefined> {
    try {
      const functions = await this.#host.functions(path);
      if (functions.includes(fn)) return undefined;
      return `${path} has no function ${fn}; it has ${functions.length === 0 ? "none" : functions.join(", ")}`;
    } catch (error) {
      return MeshError.from(error).message;
    }
  }

  async #once(key: string, mention: Mention, look: () => Promise<string | undefined>): Promise<void> {
    if (!this.#known.has(key)) this.#known.set(key, await look());
    const problem = this.#known.get(key);
    if (problem !== undefined) this.#refuse(mention, problem);
  }

  #refuse({ place, label }: Mention, message: string): void {
    this.problems.push({ ...place, message: `${label}: ${message}` });
  }
}

function processTarget(name: string, agentId: string, app: Pick<App, "scripts">): FunctionRef | undefined {
  const dot = name.lastIndexOf(".");
  const id = name.slice(0, Math.max(0, dot));
  const file = app.scripts.get(id) ?? app.scripts.get(`agents.${agentId}.${id.replace(/^scripts\./, "")}`);
  return file === undefined ? undefined : { path: file.path, fn: name.slice(dot + 1) };
}

function meantText(id: string, known: readonly string[]): string {
  const meant = nearest(id, known);
  return meant === undefined ? "" : `; did you mean "${meant}"?`;
}
