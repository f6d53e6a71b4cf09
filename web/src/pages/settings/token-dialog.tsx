/** Makes an API token and shows it, once. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { createToken } from "../../api/system.ts";
import { listWorkspaces } from "../../api/workspaces.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Actions, Dialog } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { Code, Fields, Form } from "../../ui/list.tsx";
import { toastError } from "../../ui/toast.tsx";
import { useText } from "./access-text.ts";
import { Choices } from "./choices.tsx";

const DAY = 86_400;
const SCOPES = [
  "read",
  "runs",
  "tasks",
  "apps",
  "connectors",
  "nodes",
  "workspaces",
  "tokens",
  "files",
  "admin",
] as const;

interface Draft {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly workspaces: readonly string[];
  readonly assistants: string;
  readonly ttl: string;
  readonly rate: string;
}

/** The dialog. */
export function TokenDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const [draft, setDraft] = useState<Draft>({
    name: "",
    scopes: [],
    workspaces: [],
    assistants: "",
    ttl: String(90 * DAY),
    rate: "0",
  });
  const make = useMutation({
    mutationFn: () =>
      createToken({
        name: draft.name,
        scopes: [...draft.scopes],
        workspace_ids: [...draft.workspaces],
        assistants: draft.assistants.split(",").flatMap((id) => (id.trim() === "" ? [] : [id.trim()])),
        ttl_seconds: Number(draft.ttl),
        rate_per_minute: Number(draft.rate),
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["tokens"] }),
    onError: toastError,
  });
  const secret = make.data?.secret;
  return (
    <Dialog title={say("addToken")} onClose={onClose}>
      {secret === undefined ? (
        <Form onSubmit={() => make.mutate()}>
          <TokenFields draft={draft} onChange={(change) => setDraft((before) => ({ ...before, ...change }))} />
          <Actions>
            <Button type="submit" kind="primary" busy={make.isPending}>
              {say("make")}
            </Button>
          </Actions>
        </Form>
      ) : (
        <>
          <p>{say("secretOnce")}</p>
          <Code label={say("secretOnce")}>{secret}</Code>
          <Actions>
            <CopyButton text={secret} />
            <Button kind="primary" onClick={onClose}>
              {say("done")}
            </Button>
          </Actions>
        </>
      )}
    </Dialog>
  );
}

interface TokenFieldsProps {
  readonly draft: Draft;
  readonly onChange: (change: Partial<Draft>) => void;
}

function TokenFields({ draft, onChange }: TokenFieldsProps): ReactNode {
  const say = useText();
  const workspaces = useQuery({ queryKey: ["workspaces"], queryFn: () => listWorkspaces({}) });
  return (
    <>
      <TextField
        label={say("name")}
        required
        maxLength={100}
        value={draft.name}
        onChange={(event) => onChange({ name: event.target.value })}
      />
      <Choices
        legend={say("scopes")}
        hint={say("scopesHint")}
        options={SCOPES.map((scope) => [scope, scope] as const)}
        chosen={draft.scopes}
        onChange={(scopes) => onChange({ scopes })}
      />
      <Choices
        legend={say("workspaces")}
        hint={say("workspacesHint")}
        options={workspaces.data?.workspaces.map(({ id, name }) => [id, name] as const) ?? []}
        chosen={draft.workspaces}
        onChange={(chosen) => onChange({ workspaces: chosen })}
      />
      <TextField
        label={say("assistants")}
        hint={say("assistantsHint")}
        value={draft.assistants}
        onChange={(event) => onChange({ assistants: event.target.value })}
      />
      <Fields>
        <SelectField
          label={say("expires")}
          value={draft.ttl}
          options={[
            ...[30, 90, 365].map((count) => [String(count * DAY), say("days", { count })] as const),
            ["0", say("forever")],
          ]}
          onChange={(event) => onChange({ ttl: event.target.value })}
        />
        <TextField
          label={say("rate")}
          hint={say("rateHint")}
          type="number"
          min={0}
          max={1_000_000}
          required
          value={draft.rate}
          onChange={(event) => onChange({ rate: event.target.value })}
        />
      </Fields>
    </>
  );
}
