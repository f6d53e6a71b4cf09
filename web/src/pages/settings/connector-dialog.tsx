/** Adds or changes a connector; the key goes in and never comes out. */

import type { Connector } from "@mesh/proto";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { putConnector } from "../../api/connectors.ts";
import { isRecord } from "../../api/error.ts";
import { Button } from "../../ui/button.tsx";
import { Actions, Dialog } from "../../ui/dialog.tsx";
import { SelectField, TextArea, TextField } from "../../ui/field.tsx";
import { Fields, Form } from "../../ui/list.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { useText } from "./access-text.ts";

const TYPES = ["openai", "anthropic", "demo"] as const;

interface ConnectorDialogProps {
  readonly workspace: string;
  /** The one to change; undefined adds one. */
  readonly connector: Connector | undefined;
  readonly onClose: () => void;
}

interface Draft {
  readonly id: string;
  readonly type: string;
  readonly label: string;
  readonly model: string;
  readonly host: string;
  readonly key: string;
  readonly options: string;
}

function isObject(text: string): boolean {
  if (text.trim() === "") return true;
  try {
    return isRecord(JSON.parse(text));
  } catch {
    return false;
  }
}

/** The dialog. */
export function ConnectorDialog({ workspace, connector, onClose }: ConnectorDialogProps): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const [draft, setDraft] = useState<Draft>({
    id: connector?.id ?? "",
    type: connector?.type ?? "openai",
    label: connector?.label ?? "",
    model: connector?.model ?? "",
    host: connector?.host ?? "",
    key: "",
    options: "",
  });
  const isValid = isObject(draft.options);
  const save = useMutation({
    mutationFn: () => {
      const { id, key, options, ...rest } = draft;
      const secret = key === "" ? undefined : key;
      return putConnector({ workspace, connector: id, ...rest, key: secret, options_json: options.trim() });
    },
    onSuccess: () => {
      toast(say("saved", { name: draft.id }));
      onClose();
      return queries.invalidateQueries({ queryKey: ["connectors", workspace] });
    },
    onError: toastError,
  });
  const title = connector === undefined ? say("addConnector") : say("editConnector", { name: connector.id });
  return (
    <Dialog title={title} onClose={onClose}>
      <Form onSubmit={() => isValid && save.mutate()}>
        <ConnectorFields
          draft={draft}
          isNew={connector === undefined}
          onChange={(change) => setDraft((before) => ({ ...before, ...change }))}
        />
        <TextArea
          label={say("options")}
          hint={connector === undefined ? undefined : say("optionsHint")}
          rows={2}
          value={draft.options}
          error={isValid ? undefined : say("badJson")}
          onChange={(event) => setDraft((before) => ({ ...before, options: event.target.value }))}
        />
        <Actions>
          <Button type="submit" kind="primary" busy={save.isPending}>
            {say("save")}
          </Button>
        </Actions>
      </Form>
    </Dialog>
  );
}

interface ConnectorFieldsProps {
  readonly draft: Draft;
  readonly isNew: boolean;
  readonly onChange: (change: Partial<Draft>) => void;
}

function ConnectorFields({ draft, isNew, onChange }: ConnectorFieldsProps): ReactNode {
  const say = useText();
  const types = TYPES.some((type) => type === draft.type) ? TYPES : [draft.type, ...TYPES];
  return (
    <>
      <Fields>
        <TextField
          label={say("id")}
          hint={say("idHint")}
          required
          readOnly={!isNew}
          value={draft.id}
          onChange={(event) => onChange({ id: event.target.value })}
        />
        <SelectField
          label={say("type")}
          value={draft.type}
          options={types.map((type) => [type, type] as const)}
          onChange={(event) => onChange({ type: event.target.value })}
        />
        <TextField
          label={say("model")}
          maxLength={200}
          value={draft.model}
          onChange={(event) => onChange({ model: event.target.value })}
        />
        <TextField
          label={say("label")}
          maxLength={200}
          value={draft.label}
          onChange={(event) => onChange({ label: event.target.value })}
        />
      </Fields>
      <TextField
        label={say("host")}
        hint={say("hostHint")}
        maxLength={2_048}
        value={draft.host}
        onChange={(event) => onChange({ host: event.target.value })}
      />
      <TextField
        label={say("key")}
        hint={isNew ? undefined : say("keyHint")}
        type="password"
        autoComplete="new-password"
        maxLength={8_192}
        value={draft.key}
        onChange={(event) => onChange({ key: event.target.value })}
      />
    </>
  );
}
