/** Tasks that wait for each other in a circle would never start. Pure. */

/**
 * The circle that these new predecessors of `task` would close, from `task` to `task`; undefined when there is none.
 * `before` gives the predecessors of any other task as they are.
 */
export function cycleThrough(
  task: string,
  predecessors: readonly string[],
  before: ReadonlyMap<string, readonly string[]>,
): readonly string[] | undefined {
  const cameFrom = new Map<string, string>();
  const stack = [...predecessors];
  for (const id of predecessors) cameFrom.set(id, task);
  for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
    if (id === task) return pathTo(task, cameFrom);
    for (const next of before.get(id) ?? []) {
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, id);
      stack.push(next);
    }
  }
  return undefined;
}

function pathTo(task: string, cameFrom: ReadonlyMap<string, string>): readonly string[] {
  const path = [task];
  for (let id = cameFrom.get(task); id !== undefined && id !== task; id = cameFrom.get(id)) path.push(id);
  return [...path, task].toReversed();
}
