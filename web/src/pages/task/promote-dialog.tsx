/** Makes a task agent out of a task; what it would be is shown before. */

import type { PreviewAgentResponse, Task } from "@mesh/proto";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { previewAgent, promoteTask } from "../../api/agents.ts";
import { Button } from "../../ui/button.tsx";
import { Actions, Dialog } from "../../ui/dialog.tsx";
import { TextArea, TextField } from "../../ui/field.tsx";
import { Loaded } from "../../ui/state.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import style from "./task.module.css";
import { useText } from "./text.ts";

interface PromoteProps {
  readonly task: Task;
  readonly onClose: () => void;
}

/** The dialog. */
export default function PromoteDialog({ task, onClose }: PromoteProps): ReactNode {
  const say = useText();
  const preview = useQuery({
    queryKey: ["agent-preview", task.id, task.revision],
    queryFn: () => previewAgent({ task: task.id }),
  });
  return (
    <Dialog title={say("promoteTitle", { task: task.key })} onClose={onClose} wide>
      <Loaded query={preview}>{(draft) => <Form task={task} draft={draft} onClose={onClose} />}</Loaded>
    </Dialog>
  );
}

function Form({ task, draft, onClose }: PromoteProps & { readonly draft: PreviewAgentResponse }): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const [name, setName] = useState(draft.name);
  const [agent, setAgent] = useState(task.agent ?? "");
  const [description, setDescription] = useState(draft.description);
  const [instructions, setInstructions] = useState(draft.instructions);
  const promote = useMutation({
    mutationFn: () => promoteTask({ task: task.id, agent, name, description, instructions }),
    onSuccess: ({ agent: made }) => {
      onClose();
      if (made !== undefined) toast(say("promoted", { name: made.name, version: made.version }));
      void queries.invalidateQueries({ queryKey: ["task"] });
      void queries.invalidateQueries({ queryKey: ["agents"] });
    },
    onError: toastError,
  });
  return (
    <form
      className={style.form}
      onSubmit={(event) => {
        event.preventDefault();
        promote.mutate();
      }}
    >
      <TextField
        label={say("agentName")}
        required
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <TextField
        label={say("agentId")}
        hint={say("agentIdHint")}
        pattern="[a-z0-9][a-z0-9\-]{0,62}"
        value={agent}
        onChange={(event) => setAgent(event.target.value)}
      />
      <TextField
        label={say("description")}
        maxLength={1000}
        value={description}
        onChange={(event) => setDescription(event.target.value)}
      />
      <TextArea
        label={say("instructions")}
        rows={10}
        value={instructions}
        onChange={(event) => setInstructions(event.target.value)}
      />
      {draft.examples !== "" && (
        <details>
          <summary>{say("examples")}</summary>
          <pre className={style.pre} tabIndex={0} aria-label={say("examples")}>
            {draft.examples}
          </pre>
        </details>
      )}
      {draft.files.map(({ path, text }) => (
        <details key={path}>
          <summary>{path}</summary>
          <pre className={style.pre} tabIndex={0} aria-label={path}>
            {text}
          </pre>
        </details>
      ))}
      <Actions>
        <Button type="submit" kind="primary" busy={promote.isPending}>
          {say("promoteDo")}
        </Button>
      </Actions>
    </form>
  );
}
