/** Two people changed the same fields: shows what was before, what each made of it, and asks which to keep. */

import { type ReactNode, useState } from "react";

import { Button } from "../../ui/button.tsx";
import { Actions, Dialog } from "../../ui/dialog.tsx";
import type { Conflict, Draft, Field } from "./merge.ts";
import style from "./task.module.css";
import { useText } from "./text.ts";

const LABELS = {
  title: "title",
  description: "description",
  assistant: "assistant",
  assignee: "assignee",
  labels: "labels",
  due_at: "due",
  max_retries: "maxRetries",
  blocked_by: "blockedBy",
  node: "placementNode",
  node_labels: "placementLabels",
  priority: "details",
} as const satisfies Readonly<Record<Field, string>>;

/** The dialog; `onResolve` gets the fields in which the person's own version stays. */
export function ConflictDialog(props: {
  readonly conflicts: readonly Conflict[];
  readonly onResolve: (kept: Partial<Draft>) => void;
  readonly onClose: () => void;
}): ReactNode {
  const { conflicts, onResolve, onClose } = props;
  const say = useText();
  const [mine, setMine] = useState<ReadonlySet<Field>>(new Set(conflicts.map(({ field }) => field)));
  const choose = (field: Field, isMine: boolean): void => {
    const next = new Set(mine);
    if (isMine) next.add(field);
    else next.delete(field);
    setMine(next);
  };
  const resolve = (): void => {
    const kept = conflicts.filter(({ field }) => mine.has(field)).map((conflict) => [conflict.field, conflict.mine]);
    onResolve(Object.fromEntries(kept) as Partial<Draft>);
  };
  return (
    <Dialog title={say("conflict")} onClose={onClose} wide>
      <p>{say("conflictText")}</p>
      {conflicts.map((conflict) => (
        <fieldset key={conflict.field} className={style.conflict}>
          <legend>{say(LABELS[conflict.field])}</legend>
          <Version label={say("base")} text={conflict.base} />
          <Version label={say("mine")} text={conflict.mine} />
          <Version label={say("theirs")} text={conflict.theirs} />
          <div className={style.row}>
            {([true, false] as const).map((isMine) => (
              <label key={String(isMine)}>
                <input
                  type="radio"
                  name={conflict.field}
                  checked={mine.has(conflict.field) === isMine}
                  onChange={() => choose(conflict.field, isMine)}
                />
                {isMine ? say("keepMine") : say("keepTheirs")}
              </label>
            ))}
          </div>
        </fieldset>
      ))}
      <Actions>
        <Button kind="primary" onClick={resolve}>
          {say("save")}
        </Button>
      </Actions>
    </Dialog>
  );
}

function Version({ label, text }: { readonly label: string; readonly text: string }): ReactNode {
  return (
    <div>
      <p className={style.partLabel}>{label}</p>
      <pre className={style.pre} tabIndex={0} aria-label={label}>
        {text}
      </pre>
    </div>
  );
}
