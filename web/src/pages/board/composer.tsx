/** Makes a task from what a person says. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";
import { useLocation } from "wouter";

import { listAssistants } from "../../api/apps.ts";
import { newKey } from "../../api/client.ts";
import { createTask } from "../../api/tasks.ts";
import { useWorkspace } from "../../app/workspace.ts";
import { Button } from "../../ui/button.tsx";
import { Actions, Dialog } from "../../ui/dialog.tsx";
import { CheckField, SelectField, TextArea } from "../../ui/field.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { useText } from "./text.ts";

const MAX_CHARS = 100_000;

/** The dialog; a task that is made is opened. */
export function Composer({ board, onClose }: { readonly board: string; readonly onClose: () => void }): ReactNode {
  const say = useText();
  const workspace = useWorkspace();
  const [, go] = useLocation();
  const queries = useQueryClient();
  const [message, setMessage] = useState("");
  const [assistant, setAssistant] = useState("");
  const [start, setStart] = useState(true);
  // One key for one intent: pressing again after a failure makes no second task.
  const key = useRef(newKey());
  const assistants = useQuery({
    queryKey: ["assistants", workspace],
    queryFn: () => listAssistants({ workspace }),
  });
  const create = useMutation({
    mutationFn: () =>
      createTask({ workspace, board, message: message.trim(), assistant, start }, { idempotencyKey: key.current }),
    onSuccess: ({ task }) => {
      onClose();
      if (task === undefined) return;
      toast(say("createdTask", { task: task.key }));
      void queries.invalidateQueries({ queryKey: ["column", board, task.column_id] });
      go(`/task/${task.key}`);
    },
    onError: toastError,
  });
  const options = [
    ["", say("defaultAssistant")],
    ...(assistants.data?.assistants ?? []).map(({ id, name }) => [id, name === "" ? id : name] as const),
  ] as const;
  const submit = (): void => {
    if (message.trim() !== "" && !create.isPending) create.mutate();
  };
  return (
    <Dialog title={say("newTaskTitle")} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <TextArea
          label={say("message")}
          hint={say("messageHint")}
          rows={5}
          required
          maxLength={MAX_CHARS}
          value={message}
          onChange={(event) => setMessage(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) submit();
          }}
        />
        <SelectField
          label={say("assistant")}
          value={assistant}
          options={options}
          onChange={(event) => setAssistant(event.target.value)}
        />
        <CheckField label={say("start")} checked={start} onChange={(event) => setStart(event.target.checked)} />
        <Actions>
          <Button type="submit" kind="primary" busy={create.isPending} disabled={message.trim() === ""}>
            {say("create")}
          </Button>
        </Actions>
      </form>
    </Dialog>
  );
}
