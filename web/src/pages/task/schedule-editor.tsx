/** When a task starts by itself, with the next times as the server reckons them. */

import type { Schedule, Task } from "@mesh/proto";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { ApiError } from "../../api/error.ts";
import { previewSchedule, putSchedule, removeSchedule } from "../../api/tasks.ts";
import { Button } from "../../ui/button.tsx";
import { CheckField, SelectField, TextArea, TextField } from "../../ui/field.tsx";
import { Time } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { useTaskChange } from "./task-data.ts";
import style from "./task.module.css";
import { useText } from "./text.ts";

const FIELDS = 5;

/** The part of the details that edits the schedule. */
export function ScheduleEditor({ task }: { readonly task: Task }): ReactNode {
  const say = useText();
  const { schedule } = task;
  const [draft, setDraft] = useState<Schedule>(schedule ?? emptySchedule());
  const save = useTaskChange((value: Schedule) => putSchedule({ task: task.id, schedule: value }), {
    onSuccess: () => toast(say("saved")),
  });
  const remove = useTaskChange(() => removeSchedule({ task: task.id }), {
    onSuccess: () => setDraft(emptySchedule()),
  });
  const change = (part: Partial<Schedule>): void => setDraft({ ...draft, ...part });
  return (
    <section className={style.form} aria-label={say("schedule")}>
      <h2>{say("schedule")}</h2>
      {schedule === undefined && <p className={style.note}>{say("scheduleNone")}</p>}
      <form
        className={style.form}
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(draft);
        }}
      >
        <div className={style.grid}>
          <TextField
            label={say("cron")}
            hint={say("cronHint")}
            required
            maxLength={100}
            value={draft.cron}
            onChange={(event) => change({ cron: event.target.value })}
          />
          <ZoneField value={draft.time_zone} onChange={(time_zone) => change({ time_zone })} />
          <Policies draft={draft} onChange={change} />
        </div>
        <TextArea
          label={say("scheduleMessage")}
          rows={2}
          value={draft.message}
          onChange={(event) => change({ message: event.target.value })}
        />
        <CheckField
          label={say("paused")}
          checked={draft.paused}
          onChange={(event) => change({ paused: event.target.checked })}
        />
        <Preview cron={draft.cron} zone={draft.time_zone} />
        <div className={style.row}>
          <Button type="submit" busy={save.isPending}>
            {say("saveSchedule")}
          </Button>
          {schedule !== undefined && (
            <Button kind="danger" busy={remove.isPending} onClick={() => remove.mutate(undefined)}>
              {say("removeSchedule")}
            </Button>
          )}
        </div>
      </form>
    </section>
  );
}

function emptySchedule(): Schedule {
  const time_zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return { cron: "", time_zone, missed: "skip", paused: false, message: "", overlap: "skip" };
}

function ZoneField(props: { readonly value: string; readonly onChange: (zone: string) => void }): ReactNode {
  const say = useText();
  const zones = Intl.supportedValuesOf("timeZone");
  const options = zones.includes(props.value) ? zones : [props.value, ...zones];
  return (
    <SelectField
      label={say("zone")}
      value={props.value}
      options={options.map((zone) => [zone, zone] as const)}
      onChange={(event) => props.onChange(event.target.value)}
    />
  );
}

function Policies(props: {
  readonly draft: Schedule;
  readonly onChange: (part: Partial<Schedule>) => void;
}): ReactNode {
  const say = useText();
  return (
    <>
      <SelectField
        label={say("missed")}
        value={props.draft.missed}
        options={[
          ["skip", say("missedSkip")],
          ["once", say("missedOnce")],
        ]}
        onChange={(event) => props.onChange({ missed: event.target.value })}
      />
      <SelectField
        label={say("overlap")}
        value={props.draft.overlap}
        options={[
          ["skip", say("overlapSkip")],
          ["queue", say("overlapQueue")],
        ]}
        onChange={(event) => props.onChange({ overlap: event.target.value })}
      />
    </>
  );
}

function Preview({ cron, zone }: { readonly cron: string; readonly zone: string }): ReactNode {
  const say = useText();
  const isWhole = cron.trim().split(/\s+/).length === FIELDS;
  const preview = useQuery({
    queryKey: ["schedule-preview", cron, zone],
    queryFn: () => previewSchedule({ cron, time_zone: zone }),
    enabled: isWhole,
    retry: false,
  });
  if (!isWhole) return null;
  if (preview.error !== null) {
    return (
      <p role="alert" className={style.error}>
        {ApiError.from(preview.error).message}
      </p>
    );
  }
  return (
    <div role="status">
      <p className={style.partLabel}>{say("next")}</p>
      <ul>
        {preview.data?.times.map((at) => (
          <li key={at}>
            <Time at={at} exact />
          </li>
        ))}
      </ul>
    </div>
  );
}
