/** What is done with one file. */

import type { File, Node } from "@mesh/proto";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { copyFile, deleteFile, moveFile } from "../../api/files.ts";
import { Button } from "../../ui/button.tsx";
import { Actions, Confirm, Dialog } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { Form, Note } from "../../ui/list.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { nameOf } from "./file-path.ts";
import { useText } from "./text.ts";

/** What each dialog is given. */
export interface FileDialogProps {
  readonly workspace: string;
  readonly file: File;
  readonly onClose: () => void;
  /** Loads the list again. */
  readonly onDone: () => void;
}

/** Asks for the new path. */
export function RenameDialog({ workspace, file, onClose, onDone }: FileDialogProps): ReactNode {
  const say = useText();
  const [to, setTo] = useState(file.path);
  const rename = useMutation({
    mutationFn: () => moveFile({ workspace, path: file.path, node: file.node_id, to }),
    onSuccess: () => {
      toast(say("renamed", { path: to }));
      onClose();
      onDone();
    },
    onError: toastError,
  });
  return (
    <Dialog title={say("renameTitle", { name: nameOf(file.path) })} onClose={onClose}>
      <Form onSubmit={() => rename.mutate()}>
        <TextField
          label={say("newPath")}
          required
          maxLength={1_024}
          value={to}
          onChange={(event) => setTo(event.target.value)}
        />
        <Actions>
          <Button type="submit" kind="primary" busy={rename.isPending} disabled={to === file.path}>
            {say("rename").replace("…", "")}
          </Button>
        </Actions>
      </Form>
    </Dialog>
  );
}

/** Asks for the device. */
export function CopyDialog(props: FileDialogProps & { readonly nodes: readonly Node[] }): ReactNode {
  const say = useText();
  const { workspace, file, nodes, onClose, onDone } = props;
  const targets = nodes.filter(({ id, status }) => id !== file.node_id && status === "online");
  const [chosen, setChosen] = useState(targets[0]?.id ?? "");
  const name = nameOf(file.path);
  const copy = useMutation({
    mutationFn: () => copyFile({ workspace, path: file.path, node: file.node_id, to_node: chosen }),
    onSuccess: () => {
      toast(say("copied", { name, node: targets.find(({ id }) => id === chosen)?.name ?? chosen }));
      onClose();
      onDone();
    },
    onError: toastError,
  });
  return (
    <Dialog title={say("copyTitle", { name })} onClose={onClose}>
      {targets.length === 0 ? (
        <Note>{say("noTarget")}</Note>
      ) : (
        <Form onSubmit={() => copy.mutate()}>
          <SelectField
            label={say("target")}
            value={chosen}
            options={targets.map(({ id, name: label }) => [id, label] as const)}
            onChange={(event) => setChosen(event.target.value)}
          />
          <Actions>
            <Button type="submit" kind="primary" busy={copy.isPending}>
              {say("copyAction")}
            </Button>
          </Actions>
        </Form>
      )}
    </Dialog>
  );
}

/** Asks whether it is meant. */
export function DeleteDialog({ workspace, file, onClose, onDone }: FileDialogProps): ReactNode {
  const say = useText();
  const words = { name: nameOf(file.path), node: file.node };
  const remove = useMutation({
    mutationFn: () => deleteFile({ workspace, path: file.path, node: file.node_id }),
    onSuccess: () => {
      toast(say("removed", words));
      onDone();
    },
    onError: toastError,
    onSettled: onClose,
  });
  return (
    <Confirm
      title={say("removeTitle", words)}
      text={say("removeText", words)}
      action={say("remove").replace("…", "")}
      onClose={onClose}
      onYes={() => remove.mutate()}
    />
  );
}
