/** All models of one app: which model a name means, and what is wrong between them. */

import { MeshError, nearestName } from "@mesh/kernel";

import type { ModelDefinition, ModelProblem, RelationLink } from "./model.ts";
import { parseModel } from "./parse-model.ts";

/** A model file as text. */
export interface ModelFile {
  /** Path inside the app, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

const MAX_MODELS = 1000;
const MAX_LISTED = 30;

/** The models of one app by id. */
export class ModelCatalog {
  readonly #models: ReadonlyMap<string, ModelDefinition>;

  constructor(models: Iterable<ModelDefinition>) {
    this.#models = new Map([...models].map((model) => [model.id, model]));
  }

  /** In the order of their ids. */
  get models(): readonly ModelDefinition[] {
    return [...this.#models.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  }

  get(id: string): ModelDefinition | undefined {
    return this.#models.get(id);
  }

  /** The model a name means inside an assistant: its own first, then one with this whole id. */
  resolve(name: string, assistantId: string | undefined): ModelDefinition | undefined {
    const own = assistantId === undefined ? undefined : this.get(`agents.${assistantId}.${name}`);
    return own ?? this.get(name);
  }

  /** The model of this id, or `not_found` saying which there are. */
  require(id: string): ModelDefinition {
    const model = this.get(id);
    if (model !== undefined) return model;
    const ids = [...this.#models.keys()];
    const guess = nearestName(id, ids) ?? ids.find((known) => known.endsWith(`.${id}`));
    const listed =
      ids.length === 0 ? "this app has no models" : `the models are ${ids.slice(0, MAX_LISTED).join(", ")}`;
    const hint = guess === undefined ? listed : `did you mean "${guess}"?`;
    throw new MeshError("not_found", `there is no model "${id.slice(0, 200)}"; ${hint}`);
  }

  /** The model at the other end of a link, or why the link cannot be used. */
  target(model: ModelDefinition, link: RelationLink): ModelDefinition {
    const target = this.resolve(link.model, model.assistantId);
    if (target !== undefined) return target;
    throw new MeshError(
      "failed_precondition",
      `a relation of ${model.id} needs the model "${link.model}", which this app does not have`,
    );
  }
}

/**
 * Puts models together. Of two models that would share a table only the one with the shorter path is kept, with a warning:
 * published apps hold such pairs. A relation to a model that is not there is a warning too.
 */
export function buildCatalog(models: Iterable<ModelDefinition>): {
  readonly catalog: ModelCatalog;
  readonly problems: readonly ModelProblem[];
} {
  const kept: ModelDefinition[] = [];
  const problems: ModelProblem[] = [];
  const byTable = new Map<string, ModelDefinition>();
  const byId = new Map<string, ModelDefinition>();
  for (const model of [...models].toSorted(byDepth)) {
    const { path, id, table } = model;
    const [same, sharing] = [byId.get(id), byTable.get(table)];
    if (kept.length >= MAX_MODELS) {
      problems.push({ path, message: `an app has at most ${MAX_MODELS} models`, severity: "error" });
      break;
    } else if (same !== undefined) {
      problems.push({ path, message: `the id ${id} is that of ${same.path} already`, severity: "error" });
    } else if (sharing !== undefined) {
      const message = `not loaded: the table ${table} is that of ${sharing.path} already; give this model another table name`;
      problems.push({ path, message, severity: "warning" });
    } else {
      kept.push(model);
      byId.set(id, model);
      byTable.set(table, model);
    }
  }
  const catalog = new ModelCatalog(kept);
  return { catalog, problems: [...problems, ...kept.flatMap((model) => relationProblems(model, catalog))] };
}

function byDepth(a: ModelDefinition, b: ModelDefinition): number {
  const depth = (model: ModelDefinition): number => model.path.split("/").length;
  return depth(a) - depth(b) || (a.path < b.path ? -1 : 1);
}

/** Reads the model files of an app. */
export function loadCatalog(files: Iterable<ModelFile>): {
  readonly catalog: ModelCatalog;
  readonly problems: readonly ModelProblem[];
} {
  const parsed = [...files].map((file) => parseModel(file.text, file));
  const { catalog, problems } = buildCatalog(parsed.flatMap(({ model }) => (model === undefined ? [] : [model])));
  return { catalog, problems: [...parsed.flatMap((result) => result.problems), ...problems] };
}

function relationProblems(model: ModelDefinition, catalog: ModelCatalog): readonly ModelProblem[] {
  return [...model.relations.values()].flatMap((relation) => {
    const fault = linkFault(model, relation.links, catalog);
    if (fault === undefined) return [];
    const line = relation.line === undefined ? {} : { line: relation.line };
    return [
      { path: model.path, ...line, message: `relation "${relation.name}": ${fault}`, severity: "warning" as const },
    ];
  });
}

function linkFault(model: ModelDefinition, links: readonly RelationLink[], catalog: ModelCatalog): string | undefined {
  let from = model;
  for (const link of links) {
    if (!from.columns.has(link.foreign)) return `there is no column "${link.foreign}" in ${from.id}`;
    const target = catalog.resolve(link.model, from.assistantId);
    if (target === undefined) return `there is no model "${link.model}"; the relation cannot be used`;
    if (!target.columns.has(link.key)) return `there is no column "${link.key}" in ${target.id}`;
    from = target;
  }
  return undefined;
}
