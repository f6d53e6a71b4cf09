/** What of a board is shown. It stands in the address, so that it can be sent to others. Pure. */

import type { Task } from "@mesh/proto";

/** Values of the filter; empty means all. */
export interface Filter {
  readonly query: string;
  readonly run_state: string;
  readonly priority: string;
  readonly label: string;
  readonly assistant: string;
  readonly assignee: string;
  readonly node: string;
}

/** Names of the filters in the address. */
export const FILTER_KEYS = ["query", "run_state", "priority", "label", "assistant", "assignee", "node"] as const;

const MAX_CHARS = 200;

/** The filter in an address. */
export function readFilter(search: URLSearchParams): Filter {
  const value = (key: string): string => (search.get(key) ?? "").slice(0, MAX_CHARS);
  return {
    query: value("query"),
    run_state: value("run_state"),
    priority: value("priority"),
    label: value("label"),
    assistant: value("assistant"),
    assignee: value("assignee"),
    node: value("node"),
  };
}

/** Whether anything is left out. */
export function isFiltering(filter: Filter): boolean {
  return FILTER_KEYS.some((key) => filter[key] !== "");
}

const EQUAL = ["run_state", "priority", "assistant", "assignee", "node"] as const;

/** Whether a task is shown; undefined when only the server knows, because of a search for words. */
export function fits(filter: Filter, task: Task): boolean | undefined {
  if (task.archived_at !== undefined && task.archived_at !== "") return false;
  if (filter.label !== "" && !task.labels.includes(filter.label)) return false;
  if (EQUAL.some((key) => filter[key] !== "" && task[key] !== filter[key])) return false;
  return filter.query === "" ? true : undefined;
}
