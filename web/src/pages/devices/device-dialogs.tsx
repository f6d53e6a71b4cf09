/** What is changed about a device. */

import type { Node } from "@mesh/proto";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { drainNode, updateNode } from "../../api/nodes.ts";
import { listWorkspaces } from "../../api/workspaces.ts";
import { Button } from "../../ui/button.tsx";
import { Actions, Dialog } from "../../ui/dialog.tsx";
import { CheckField, SelectField, TextArea, TextField } from "../../ui/field.tsx";
import { Form, Note } from "../../ui/list.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { labelChange, readLabels, writeLabels } from "./label-list.ts";
import { useText } from "./text.ts";

interface DialogProps {
  readonly node: Node;
  readonly onClose: () => void;
  /** Loads the device again. */
  readonly onDone: () => Promise<void>;
}

/** Name, labels, slots and workspaces. */
export function EditDeviceDialog({ node, onClose, onDone }: DialogProps): ReactNode {
  const say = useText();
  const [name, setName] = useState(node.name);
  const [slots, setSlots] = useState(String(node.slots));
  const [text, setText] = useState(() => writeLabels(node.labels));
  const [served, setServed] = useState<readonly string[]>(node.workspace_ids);
  const { labels, bad } = readLabels(text);
  const save = useMutation({
    mutationFn: () =>
      updateNode({
        node: node.id,
        name,
        slots: Number(slots),
        labels: labelChange(node.labels, labels),
        workspace_ids: { ids: [...served] },
      }),
    onSuccess: () => {
      toast(say("saved", { name }));
      onClose();
      return onDone();
    },
    onError: toastError,
  });
  return (
    <Dialog title={say("editTitle", { name: node.name })} onClose={onClose}>
      <Form onSubmit={() => bad === undefined && save.mutate()}>
        <TextField
          label={say("name")}
          required
          maxLength={63}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <TextField
          label={say("slots")}
          hint={say("slotsHint")}
          type="number"
          min={1}
          max={1024}
          required
          value={slots}
          onChange={(event) => setSlots(event.target.value)}
        />
        <TextArea
          label={say("labels")}
          hint={say("labelsHint")}
          error={bad === undefined ? undefined : say("badLabel", { label: bad })}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <ServedFields served={served} onChange={setServed} />
        <Actions>
          <Button type="submit" kind="primary" busy={save.isPending}>
            {say("save")}
          </Button>
        </Actions>
      </Form>
    </Dialog>
  );
}

function ServedFields({
  served,
  onChange,
}: {
  readonly served: readonly string[];
  readonly onChange: (served: readonly string[]) => void;
}): ReactNode {
  const say = useText();
  const workspaces = useQuery({ queryKey: ["workspaces"], queryFn: () => listWorkspaces({}) });
  return (
    <fieldset>
      <legend>{say("workspaces")}</legend>
      <Note>{say("workspacesHint")}</Note>
      {workspaces.data?.workspaces.map(({ id, name }) => (
        <CheckField
          key={id}
          label={name}
          checked={served.includes(id)}
          onChange={({ target }) => onChange(target.checked ? [...served, id] : served.filter((other) => other !== id))}
        />
      ))}
    </fieldset>
  );
}

/** Asks for the deadline. */
export function DrainDialog({ node, onClose, onDone }: DialogProps): ReactNode {
  const say = useText();
  const [deadline, setDeadline] = useState("0");
  const drain = useMutation({
    mutationFn: () => drainNode({ node: node.id, deadline_seconds: Number(deadline) }),
    onSuccess: () => {
      toast(say("drained", { name: node.name }));
      onClose();
      return onDone();
    },
    onError: toastError,
  });
  return (
    <Dialog title={say("drainTitle", { name: node.name })} onClose={onClose}>
      <Form onSubmit={() => drain.mutate()}>
        <Note>{say("drainText")}</Note>
        <SelectField
          label={say("drainLimit")}
          value={deadline}
          options={[
            ["0", say("noLimit")],
            ["300", say("minutes", { count: 5 })],
            ["1800", say("minutes", { count: 30 })],
            ["7200", say("hours", { count: 2 })],
          ]}
          onChange={(event) => setDeadline(event.target.value)}
        />
        <Actions>
          <Button type="submit" kind="primary" busy={drain.isPending}>
            {say("drain")}
          </Button>
        </Actions>
      </Form>
    </Dialog>
  );
}
