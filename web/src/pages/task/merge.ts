/** Three versions of a task's fields, field by field. Pure. */

import type { Task } from "@mesh/proto";

/** The fields that a person edits, as text. */
export interface Draft {
  readonly title: string;
  readonly description: string;
  readonly priority: string;
  readonly assistant: string;
  readonly assignee: string;
  readonly labels: string;
  readonly due_at: string;
  readonly max_retries: string;
  readonly blocked_by: string;
  readonly node: string;
  readonly node_labels: string;
}

/** Names of the fields. */
export type Field = keyof Draft;

/** All fields, in the order of the form. */
export const FIELDS = [
  "title",
  "description",
  "priority",
  "assistant",
  "assignee",
  "labels",
  "due_at",
  "max_retries",
  "blocked_by",
  "node",
  "node_labels",
] as const satisfies readonly Field[];

/** A task as a draft. */
export function draftOf(task: Task): Draft {
  return {
    title: task.title,
    description: task.description,
    priority: task.priority,
    assistant: task.assistant,
    assignee: task.assignee,
    labels: task.labels.join(", "),
    due_at: task.due_at ?? "",
    max_retries: String(task.max_retries),
    blocked_by: task.blocked_by.map(({ key }) => key).join(", "),
    node: task.placement?.node ?? "",
    node_labels: Object.entries(task.placement?.labels ?? {})
      .map(([name, value]) => `${name}=${value}`)
      .join(", "),
  };
}

/** A field in which both sides went different ways. */
export interface Conflict {
  readonly field: Field;
  readonly base: string;
  readonly mine: string;
  readonly theirs: string;
}

/** What both sides make of the base: whoever changed a field alone is right; the rest are conflicts. */
export function merge(
  base: Draft,
  mine: Draft,
  theirs: Draft,
): { readonly merged: Draft; readonly conflicts: readonly Conflict[] } {
  const merged: Record<Field, string> = { ...theirs };
  const conflicts: Conflict[] = [];
  for (const field of FIELDS) {
    const [before, own, other] = [base[field], mine[field], theirs[field]];
    if (own === before || own === other) continue;
    if (other === before) merged[field] = own;
    else conflicts.push({ field, base: before, mine: own, theirs: other });
  }
  return { merged, conflicts };
}

/** Fields in which a draft differs. */
export function changedFields(before: Draft, after: Draft): Field[] {
  return FIELDS.filter((field) => before[field] !== after[field]);
}

/** Parts of a text with commas. */
export function listOf(text: string): string[] {
  return text
    .split(/[,，]/)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
