/** The workspace: name, default assistant, devices, limits; its variables; and its end. */

import type { Workspace, WorkspaceSettings } from "@mesh/proto";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";

import { listAssistants } from "../../api/apps.ts";
import { listNodes } from "../../api/nodes.ts";
import { deleteWorkspace, getWorkspace, updateWorkspace } from "../../api/workspaces.ts";
import { useWorkspace, useWorkspaceChoice } from "../../app/workspace.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { Fields, Form, Note, Section } from "../../ui/list.tsx";
import { Loaded } from "../../ui/state.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { Choices } from "./choices.tsx";
import { SecretsSection } from "./secrets-section.tsx";
import { useText } from "./text.ts";

const EMPTY: WorkspaceSettings = {
  default_assistant: "",
  node_ids: [],
  member_assistants: [],
  max_active_runs: 0,
  max_runs_per_day: 0,
  max_storage_mb: 0,
};
const QUOTAS = [
  ["max_active_runs", "maxActive", 100_000],
  ["max_runs_per_day", "maxPerDay", 1_000_000],
  ["max_storage_mb", "maxStorage", 1_000_000_000],
] as const;

/** The part. */
export function WorkspaceSection(): ReactNode {
  const workspace = useWorkspace();
  const query = useQuery({ queryKey: ["workspace", workspace], queryFn: () => getWorkspace({ workspace }) });
  return (
    <>
      <Loaded query={query} lines={6}>
        {(answer) =>
          answer.workspace === undefined ? null : <General key={answer.workspace.id} workspace={answer.workspace} />
        }
      </Loaded>
      <SecretsSection workspace={workspace} />
      {query.data?.workspace !== undefined && <Delete workspace={query.data.workspace} />}
    </>
  );
}

function General({ workspace }: { readonly workspace: Workspace }): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const [name, setName] = useState(workspace.name);
  const [settings, setSettings] = useState<WorkspaceSettings>(workspace.settings ?? EMPTY);
  const set = (change: Partial<WorkspaceSettings>): void => setSettings((before) => ({ ...before, ...change }));
  const save = useMutation({
    mutationFn: () => updateWorkspace({ workspace: workspace.id, name, settings }),
    onSuccess: () => {
      toast(say("saved"));
      return queries.invalidateQueries({ predicate: ({ queryKey: [key] }) => String(key).startsWith("workspace") });
    },
    onError: toastError,
  });
  return (
    <Section title={say("general")}>
      <Form onSubmit={() => save.mutate()}>
        <TextField
          label={say("name")}
          hint={say("nameHint")}
          required
          pattern="[a-z0-9][a-z0-9\-]{0,62}"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <References workspace={workspace.id} settings={settings} onChange={set} />
        <h3>{say("quotas")}</h3>
        <Fields>
          {QUOTAS.map(([field, label, max]) => (
            <TextField
              key={field}
              label={say(label)}
              hint={say("quotaHint")}
              type="number"
              min={0}
              max={max}
              required
              value={settings[field]}
              onChange={(event) => set({ [field]: event.target.valueAsNumber || 0 })}
            />
          ))}
        </Fields>
        <div>
          <Button type="submit" kind="primary" busy={save.isPending}>
            {say("save")}
          </Button>
        </div>
      </Form>
    </Section>
  );
}

interface ReferencesProps {
  readonly workspace: string;
  readonly settings: WorkspaceSettings;
  readonly onChange: (change: Partial<WorkspaceSettings>) => void;
}

/** What names assistants and devices. */
function References({ workspace, settings, onChange }: ReferencesProps): ReactNode {
  const say = useText();
  const assistants = useQuery({
    queryKey: ["assistants", workspace],
    queryFn: () => listAssistants({ workspace }),
  });
  const nodes = useQuery({ queryKey: ["nodes"], queryFn: () => listNodes({}) });
  const ids = assistants.data?.assistants.map(({ id }) => id) ?? [];
  const known =
    settings.default_assistant === "" || ids.includes(settings.default_assistant) ? [] : [settings.default_assistant];
  return (
    <>
      <SelectField
        label={say("defaultAssistant")}
        hint={say("defaultAssistantHint")}
        value={settings.default_assistant}
        options={[["", say("noDefault")], ...[...known, ...ids].map((id) => [id, id] as const)]}
        onChange={(event) => onChange({ default_assistant: event.target.value })}
      />
      <Choices
        legend={say("devices")}
        hint={say("allDevices")}
        options={nodes.data?.nodes.map(({ id, name }) => [id, name] as const) ?? []}
        chosen={settings.node_ids}
        onChange={(node_ids) => onChange({ node_ids: [...node_ids] })}
      />
    </>
  );
}

function Delete({ workspace: { id, name } }: { readonly workspace: Workspace }): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const [, go] = useLocation();
  const [typed, setTyped] = useState("");
  const remove = useMutation({
    mutationFn: () => deleteWorkspace({ workspace: id, force: true }),
    onSuccess: () => {
      toast(say("deleted", { name }));
      useWorkspaceChoice.setState({ id: undefined });
      go("/board");
      return queries.invalidateQueries({ queryKey: ["workspaces"] });
    },
    onError: toastError,
  });
  return (
    <Section title={say("deleteWorkspace")}>
      <Form onSubmit={() => typed === name && remove.mutate()}>
        <Note>{say("deleteText")}</Note>
        <TextField label={say("name")} value={typed} onChange={(event) => setTyped(event.target.value)} />
        <div>
          <Button type="submit" kind="danger" busy={remove.isPending} disabled={typed !== name}>
            {say("deleteWorkspace")}
          </Button>
        </div>
      </Form>
    </Section>
  );
}
