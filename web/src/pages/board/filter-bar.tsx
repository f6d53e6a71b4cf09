/** The filters of the board. */

import { type ReactNode, useEffect, useState } from "react";

import { browserClock } from "../../app/clock.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { PRIORITIES, TASK_STATES } from "../work/run-state.tsx";
import { useText as useTaskText } from "../work/text.ts";
import style from "./board.module.css";
import { type Filter, isFiltering } from "./filter.ts";
import { useText } from "./text.ts";

const TYPING_MS = 300;

/** What the bar is given. */
export interface FilterBarProps {
  readonly filter: Filter;
  readonly onChange: (change: Partial<Filter>) => void;
  readonly onClear: () => void;
}

/** A search field and what narrows further. */
export function FilterBar({ filter, onChange, onClear }: FilterBarProps): ReactNode {
  const say = useText();
  const sayTask = useTaskText();
  const any = ["", say("any")] as const;
  return (
    <search className={style.filters}>
      <SearchField query={filter.query} onChange={(query) => onChange({ query })} />
      <details className={style.more} open={isFiltering({ ...filter, query: "" })}>
        <summary>{say("filters")}</summary>
        <div className={style.moreFields}>
          <SelectField
            label={say("state")}
            value={filter.run_state}
            options={[any, ...TASK_STATES.map((state) => [state, sayTask(state)] as const)]}
            onChange={({ target }) => onChange({ run_state: target.value })}
          />
          <SelectField
            label={sayTask("priority")}
            value={filter.priority}
            options={[any, ...PRIORITIES.map((priority) => [priority, sayTask(priority)] as const)]}
            onChange={({ target }) => onChange({ priority: target.value })}
          />
          {(["label", "assistant", "assignee"] as const).map((key) => (
            <LateField
              key={key}
              label={say(key)}
              value={filter[key]}
              onChange={(value) => onChange({ [key]: value })}
            />
          ))}
          <LateField label={say("device")} value={filter.node} onChange={(node) => onChange({ node })} />
        </div>
      </details>
      {isFiltering(filter) && (
        <Button kind="quiet" icon="close" onClick={onClear}>
          {say("clear")}
        </Button>
      )}
    </search>
  );
}

function SearchField(props: { readonly query: string; readonly onChange: (query: string) => void }): ReactNode {
  const say = useText();
  return <LateField label={say("search")} value={props.query} onChange={props.onChange} isSearch />;
}

/** A field whose value counts once a person pauses. */
function LateField(props: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly isSearch?: boolean;
}): ReactNode {
  const { label, value, onChange, isSearch = false } = props;
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(
    () => (typed === value ? undefined : browserClock.after(TYPING_MS, () => onChange(typed))),
    // Only typing starts the wait anew.
    [typed],
  );
  return (
    <TextField
      label={label}
      hideLabel={isSearch}
      type={isSearch ? "search" : "text"}
      placeholder={isSearch ? label : undefined}
      data-search={isSearch || undefined}
      maxLength={200}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === "Enter") onChange(typed);
      }}
    />
  );
}
