/** The fields of a task, to be changed by hand. What somebody else changed meanwhile is never written over. */

import type { RunRequirements, Task, UpdateTaskRequest } from "@mesh/proto";
import { type ReactNode, useState } from "react";

import { type ApiError, isRecord } from "../../api/error.ts";
import { updateTask } from "../../api/tasks.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField, TextArea, TextField } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { PRIORITIES } from "../work/run-state.tsx";
import { useText as useTaskText } from "../work/text.ts";
import { ConflictDialog } from "./conflict-dialog.tsx";
import { changedFields, type Conflict, type Draft, draftOf, type Field, listOf, merge } from "./merge.ts";
import { ScheduleEditor } from "./schedule-editor.tsx";
import { useTaskChange } from "./task-data.ts";
import style from "./task.module.css";
import { useText } from "./text.ts";

interface Open {
  readonly conflicts: readonly Conflict[];
  readonly merged: Draft;
  readonly theirs: Task;
}

/** The tab. */
export default function DetailsTab({ task }: { readonly task: Task }): ReactNode {
  const say = useText();
  // The task as it was when the person began: what the draft is compared with.
  const [base, setBase] = useState(task);
  const [draft, setDraft] = useState(draftOf(task));
  const [open, setOpen] = useState<Open>();
  const changed = changedFields(draftOf(base), draft);
  // Nothing typed yet: what comes over the feed is shown at once.
  if (changed.length === 0 && base.revision !== task.revision) {
    setBase(task);
    setDraft(draftOf(task));
  }
  const save = useTaskChange((request: UpdateTaskRequest) => updateTask(request), {
    onSuccess: () => toast(say("saved")),
    onConflict: (error) => {
      const theirs = theirsOf(error, task);
      const { merged, conflicts } = merge(draftOf(base), draft, draftOf(theirs));
      setOpen({ conflicts, merged, theirs });
    },
  });
  const submit = (from: Task, after: Draft): void => {
    save.mutate(requestOf(from, changedFields(draftOf(from), after), after), {
      onSuccess: ({ task: saved }) => {
        if (saved === undefined) return;
        const whole = { ...from, ...saved };
        setBase(whole);
        setDraft(draftOf(whole));
      },
    });
  };
  return (
    <>
      <form
        className={style.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (changed.length > 0) submit(base, draft);
        }}
      >
        <Fields draft={draft} onChange={(change) => setDraft({ ...draft, ...change })} />
        <p>
          {say("blocks")}: {task.blocks.length === 0 ? say("nothing") : task.blocks.map(({ key }) => key).join(", ")}
        </p>
        <div className={style.row}>
          <Button type="submit" kind="primary" busy={save.isPending} disabled={changed.length === 0}>
            {say("save")}
          </Button>
          {changed.length > 0 && <span className={style.note}>{say("unsaved")}</span>}
        </div>
      </form>
      <ScheduleEditor task={task} />
      {open !== undefined && (
        <ConflictDialog
          conflicts={open.conflicts}
          onClose={() => setOpen(undefined)}
          onResolve={(kept) => {
            setOpen(undefined);
            const resolved = { ...open.merged, ...kept };
            setBase(open.theirs);
            setDraft(resolved);
            submit(open.theirs, resolved);
          }}
        />
      )}
    </>
  );
}

/** The version that is there, out of the refusal; what it leaves out is as it was. */
function theirsOf({ details }: ApiError, known: Task): Task {
  const { task } = details as { task?: unknown };
  return isRecord(task) ? { ...known, ...(task as Partial<Task>) } : known;
}

function Fields({
  draft,
  onChange,
}: {
  readonly draft: Draft;
  readonly onChange: (change: Partial<Draft>) => void;
}): ReactNode {
  const say = useText();
  const sayTask = useTaskText();
  const bind = (field: Field) => ({
    value: draft[field],
    onChange: (event: { target: { value: string } }) => onChange({ [field]: event.target.value }),
  });
  return (
    <>
      <TextField label={say("title")} required maxLength={300} {...bind("title")} />
      <TextArea label={say("description")} rows={6} maxLength={100_000} {...bind("description")} />
      <div className={style.grid}>
        <SelectField
          label={sayTask("priority")}
          options={PRIORITIES.map((priority) => [priority, sayTask(priority)] as const)}
          {...bind("priority")}
        />
        <TextField label={say("assistant")} maxLength={200} {...bind("assistant")} />
        <TextField label={say("assignee")} maxLength={100} {...bind("assignee")} />
        <TextField label={say("labels")} maxLength={1000} {...bind("labels")} />
        <TextField
          label={say("due")}
          type="datetime-local"
          value={localOf(draft.due_at)}
          onChange={(event) => onChange({ due_at: utcOf(event.target.value) })}
        />
        <TextField label={say("maxRetries")} type="number" min={0} max={20} {...bind("max_retries")} />
        <TextField label={say("blockedBy")} maxLength={1000} {...bind("blocked_by")} />
        <TextField label={say("placementNode")} maxLength={200} {...bind("node")} />
        <TextField label={say("placementLabels")} maxLength={1000} {...bind("node_labels")} />
      </div>
    </>
  );
}

function requestOf(base: Task, fields: readonly Field[], draft: Draft): UpdateTaskRequest {
  const has = (...names: Field[]): boolean => names.some((name) => fields.includes(name));
  const plain = (["title", "description", "priority", "assistant", "assignee", "due_at"] as const).filter((name) =>
    has(name),
  );
  return {
    task: base.id,
    revision: base.revision,
    ...Object.fromEntries(plain.map((name) => [name, draft[name]])),
    labels: has("labels") ? { items: listOf(draft.labels) } : undefined,
    blocked_by: has("blocked_by") ? { items: listOf(draft.blocked_by) } : undefined,
    max_retries: has("max_retries") ? Number(draft.max_retries) : undefined,
    placement: has("node", "node_labels") ? placementOf(base, draft) : undefined,
  };
}

function placementOf(base: Task, draft: Draft): RunRequirements {
  const labels = Object.fromEntries(
    listOf(draft.node_labels).map((pair) => {
      const [name = "", ...value] = pair.split("=");
      return [name.trim(), value.join("=").trim()];
    }),
  );
  const { os = "", arch = "", tools = [] } = base.placement ?? {};
  return { os, arch, tools, node: draft.node.trim(), labels };
}

/** A time as the field for times wants it: in the browser's zone, without one. */
function localOf(utc: string): string {
  const date = new Date(utc);
  if (utc === "" || Number.isNaN(date.getTime())) return "";
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function utcOf(local: string): string {
  const date = new Date(local);
  return local === "" || Number.isNaN(date.getTime()) ? "" : date.toISOString();
}
