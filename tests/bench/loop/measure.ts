/** The measurements: every number of every contender taken in alternating rounds, so that a busy minute hits all of them. */

import { median, quantile } from "../sample.ts";
import { Bundles } from "./bundle.ts";
import { type Contender, fileOf, importTime, type Job } from "./contender.ts";
import { type Scenario, SHORT_RUN, TIMED } from "./scenario.mjs";

/** How thoroughly to measure. */
export interface Effort {
  readonly rounds: number;
  /** Rounds that are run and thrown away, until the compiler has settled: the first take up to three times as long. */
  readonly warmUps: number;
  readonly progress: (text: string) => void;
}

/** One quantity of all contenders. */
export interface Measured {
  readonly title: string;
  readonly unit: "ms/turn" | "ms" | "KB/run";
  /** Bound of ours: a ratio to the floor, or a value. */
  readonly aim?: { readonly atMostRaw: number } | { readonly atMost: number };
  readonly values: ReadonlyMap<string, Value>;
}

/** One quantity of one contender, or why there is none. */
export type Value =
  | { readonly kind: "failed"; readonly why: string }
  | {
      readonly kind: "measured";
      readonly median: number;
      /** Lowest and highest round. */
      readonly range: readonly [number, number];
      /** Median over the rounds of this contender beside the floor in the same round. */
      readonly toRaw: number;
    };

/** Takes one sample of one contender. */
type Take = (name: string) => Promise<number>;

const IMPORT_ROUNDS = 9;
const ABORT_ROUNDS = 9;
const HEAP_ROUNDS = 4;

/** Measures everything. */
export async function measureAll(contenders: readonly Contender[], effort: Effort): Promise<readonly Measured[]> {
  const byName = new Map(contenders.map((contender) => [contender.name, contender]));
  const names = [...byName.keys()];
  const taking =
    (job: Job, scenario?: Scenario): Take =>
    async (name) =>
      (await byName.get(name)?.ask(job, scenario)) ?? Number.NaN;
  const found: Measured[] = [];
  effort.progress("warming up");
  for (const scenario of TIMED) {
    await alternate(names, taking("time", scenario), { warmUps: effort.warmUps, rounds: 0 });
  }
  for (const scenario of TIMED) {
    effort.progress(scenario.title);
    const values = await alternate(names, taking("time", scenario), { warmUps: 2, rounds: effort.rounds });
    const aim = scenario.limit === undefined ? {} : { aim: { atMostRaw: scenario.limit } };
    found.push({ title: scenario.title, unit: "ms/turn", ...aim, values });
  }
  effort.progress("heap");
  const heap = async (name: string): Promise<number> => (await taking("heap", SHORT_RUN)(name)) / 1024;
  const heapValues = await alternate(names, heap, { warmUps: 2, rounds: Math.min(effort.rounds, HEAP_ROUNDS) });
  found.push({
    title: "heap left by each of 1,000 concurrent runs",
    unit: "KB/run",
    aim: { atMost: 4 },
    values: heapValues,
  });
  effort.progress("abort");
  const once = { warmUps: 1, rounds: ABORT_ROUNDS };
  found.push({
    title: "abort while the model is silent",
    unit: "ms",
    aim: { atMost: 20 },
    values: await alternate(names, taking("abortStream"), once),
  });
  found.push({
    title: "abort while a tool ignores it",
    unit: "ms",
    aim: { atMost: 20 },
    values: await alternate(names, taking("abortTool", SHORT_RUN), once),
  });
  return found;
}

/** What importing takes, in fresh processes: as installed (ours as it is shipped), and bundled into one file. */
export async function measureImport(names: readonly string[], effort: Effort): Promise<readonly Measured[]> {
  effort.progress("import");
  await using bundles = await Bundles.create();
  const files = new Map<string, string>();
  const bundleOf = async (name: string): Promise<string> => {
    const file = files.get(name) ?? (await bundles.add(name));
    files.set(name, file);
    return file;
  };
  const installed = await importTimes(names, effort, (name) => Promise.resolve(fileOf(name)));
  const bundled = await importTimes(names, effort, bundleOf);
  const aim = { atMost: 40 };
  return [
    // Time on the clock grows with whatever else the machine does meanwhile; it is shown, not judged.
    { title: "import as installed, wall time", unit: "ms", values: installed.wall },
    { title: "import as installed, processor time", unit: "ms", aim, values: installed.cpu },
    { title: "import bundled into one file, processor time", unit: "ms", aim, values: bundled.cpu },
  ];
}

async function importTimes(
  names: readonly string[],
  effort: Effort,
  fileFor: (name: string) => Promise<string>,
): Promise<{ readonly wall: ReadonlyMap<string, Value>; readonly cpu: ReadonlyMap<string, Value> }> {
  const cpuMs = new Map<string, number[]>(names.map((name) => [name, []]));
  const take: Take = async (name) => {
    const took = await importTime(await fileFor(name));
    cpuMs.get(name)?.push(took.cpuMs);
    return took.wallMs;
  };
  const wall = await alternate(names, take, { warmUps: 1, rounds: Math.max(effort.rounds, IMPORT_ROUNDS) });
  const floor = cpuMs.get("raw") ?? [];
  return { wall, cpu: new Map(names.map((name) => [name, summary(cpuMs.get(name) ?? [], floor)])) };
}

async function alternate(
  names: readonly string[],
  take: Take,
  { warmUps, rounds }: { readonly warmUps: number; readonly rounds: number },
): Promise<ReadonlyMap<string, Value>> {
  const samples = new Map<string, number[]>(names.map((name) => [name, []]));
  const failed = new Map<string, string>();
  for (let round = -warmUps; round < rounds; round += 1) {
    for (const name of names) {
      if (failed.has(name)) continue;
      try {
        const sample = await take(name);
        if (round >= 0) samples.get(name)?.push(sample);
      } catch (error) {
        failed.set(name, error instanceof Error ? error.message : String(error));
      }
    }
  }
  const floor = samples.get("raw") ?? [];
  return new Map(
    names.map((name) => {
      const why = failed.get(name);
      return [name, why === undefined ? summary(samples.get(name) ?? [], floor) : { kind: "failed", why }];
    }),
  );
}

function summary(samples: readonly number[], floor: readonly number[]): Value {
  return {
    kind: "measured",
    median: median(samples),
    range: [quantile(samples, 0), quantile(samples, 1)],
    toRaw: median(samples.map((sample, round) => sample / (floor[round] ?? Number.NaN))),
  };
}
