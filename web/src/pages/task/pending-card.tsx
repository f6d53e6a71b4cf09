/** What a waiting run asks: a question to answer, or a tool to approve, deny or change. */

import type { PendingItem, Task } from "@mesh/proto";
import { type ReactNode, useState } from "react";

import { isRecord } from "../../api/error.ts";
import { sendToTask } from "../../api/tasks.ts";
import { Button } from "../../ui/button.tsx";
import { TextArea, TextField } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { useTaskChange } from "./task-data.ts";
import style from "./task.module.css";
import { useText } from "./text.ts";

interface Answer {
  readonly decision: "approve" | "deny" | "edit" | "answer";
  readonly text?: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
}

/** The card of one item. */
export function PendingCard({ task, item }: { readonly task: Task; readonly item: PendingItem }): ReactNode {
  const say = useText();
  const answer = useTaskChange((given: Answer) => sendToTask({ task: task.id, call_id: item.id, text: "", ...given }), {
    onSuccess: () => toast(say("answered")),
  });
  const isQuestion = item.kind === "question";
  return (
    <section className={style.pending} aria-label={isQuestion ? say("asks") : say("wantsTo", { tool: item.tool })}>
      <h2>{isQuestion ? say("asks") : say("wantsTo", { tool: item.tool })}</h2>
      {item.text !== "" && <p>{item.text}</p>}
      {isQuestion ? (
        <Question item={item} isBusy={answer.isPending} onAnswer={answer.mutate} />
      ) : (
        <Approval item={item} isBusy={answer.isPending} onAnswer={answer.mutate} />
      )}
    </section>
  );
}

interface PartProps {
  readonly item: PendingItem;
  readonly isBusy: boolean;
  readonly onAnswer: (answer: Answer) => void;
}

function Question({ item, isBusy, onAnswer }: PartProps): ReactNode {
  const say = useText();
  const [text, setText] = useState("");
  return (
    <form
      className={style.pendingForm}
      onSubmit={(event) => {
        event.preventDefault();
        onAnswer({ decision: "answer", text });
      }}
    >
      {item.choices.length > 0 && (
        <div className={style.row}>
          {item.choices.map((choice) => (
            <Button key={choice} disabled={isBusy} onClick={() => onAnswer({ decision: "answer", text: choice })}>
              {choice}
            </Button>
          ))}
        </div>
      )}
      <TextField label={say("answerLabel")} value={text} required onChange={(event) => setText(event.target.value)} />
      <div className={style.row}>
        <Button type="submit" kind="primary" busy={isBusy}>
          {say("answer")}
        </Button>
        <Button disabled={isBusy} onClick={() => onAnswer({ decision: "deny", text })}>
          {say("deny")}
        </Button>
      </div>
    </form>
  );
}

function Approval({ item, isBusy, onAnswer }: PartProps): ReactNode {
  const say = useText();
  const before = JSON.stringify(item.arguments ?? {}, null, 2);
  const [mode, setMode] = useState<"view" | "edit" | "deny">("view");
  const [json, setJson] = useState(before);
  const [reason, setReason] = useState("");
  const [error, setError] = useState<string>();
  const edit = (): void => {
    try {
      const value: unknown = JSON.parse(json);
      if (!isRecord(value)) throw new Error("{ … }");
      onAnswer({ decision: "edit", arguments: value });
    } catch (thrown) {
      setError(say("argumentsError", { reason: thrown instanceof Error ? thrown.message : "" }));
    }
  };
  return (
    <div className={style.pendingForm}>
      {mode === "edit" ? (
        <TextArea
          label={say("arguments")}
          rows={8}
          error={error}
          className={style.mono}
          value={json}
          onChange={(event) => setJson(event.target.value)}
        />
      ) : (
        <pre className={style.pre} tabIndex={0} aria-label={say("arguments")}>
          {before}
        </pre>
      )}
      {item.arguments_cut && <p className={style.note}>{say("argumentsCut")}</p>}
      {mode === "deny" && (
        <TextField label={say("reason")} value={reason} onChange={(event) => setReason(event.target.value)} />
      )}
      <div className={style.row}>
        {mode === "view" && (
          <Button kind="primary" icon="check" busy={isBusy} onClick={() => onAnswer({ decision: "approve" })}>
            {say("approve")}
          </Button>
        )}
        {mode !== "deny" && !item.arguments_cut && (
          <Button icon="edit" disabled={isBusy} onClick={mode === "edit" ? edit : () => setMode("edit")}>
            {say("edit")}
          </Button>
        )}
        {mode !== "edit" && (
          <Button
            kind="danger"
            disabled={isBusy}
            onClick={mode === "deny" ? () => onAnswer({ decision: "deny", text: reason }) : () => setMode("deny")}
          >
            {say("deny")}
          </Button>
        )}
      </div>
    </div>
  );
}
