/** Starts an eval: what is tested, with which cases, on which devices. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";

import { listAssistants } from "../../api/apps.ts";
import { newKey } from "../../api/client.ts";
import { listConnectors } from "../../api/connectors.ts";
import { ApiError } from "../../api/error.ts";
import { Button } from "../../ui/button.tsx";
import { Actions, Dialog } from "../../ui/dialog.tsx";
import { CheckField, SelectField, TextField } from "../../ui/field.tsx";
import { Fields, Form, Problem } from "../../ui/list.tsx";
import { Failure } from "../../ui/state.tsx";
import { toast } from "../../ui/toast.tsx";
import { type CaseText, readCases } from "./read-cases.ts";
import { CasesField, type CaseSource } from "./cases-field.tsx";
import { PlacementFields } from "./placement-fields.tsx";
import { refusedCases, sendEval } from "./send-eval.ts";
import { EMPTY_FORM, placementOf, settingsOf, type StartForm } from "./start-form.ts";
import { useText } from "./start-text.ts";

/** What the dialog is given. */
export interface StartDialogProps {
  readonly workspace: string;
  /** Chosen at first; may be empty. */
  readonly assistant: string;
  readonly onClose: () => void;
}

/** The dialog. */
export function StartDialog({ workspace, assistant, onClose }: StartDialogProps): ReactNode {
  const say = useText();
  const [form, setForm] = useState<StartForm>({ ...EMPTY_FORM, assistant });
  const [source, setSource] = useState<CaseSource>({ name: "", text: "" });
  const read = useMemo(() => readCases(source.text), [source.text]);
  const [wasTried, setTried] = useState(false);
  const change = (some: Partial<StartForm>): void => setForm((before) => ({ ...before, ...some }));
  const { send, sent } = useSend(workspace, form, read);
  const isReady = read.cases.length > 0 && read.problems.length === 0;
  return (
    <Dialog wide title={say("startTitle")} onClose={onClose}>
      <Form
        onSubmit={() => {
          setTried(true);
          if (isReady) send.mutate();
        }}
      >
        <WhatFields workspace={workspace} form={form} onChange={change} />
        <CasesField
          source={source}
          read={read}
          onChange={setSource}
          missing={wasTried && read.cases.length === 0 && read.problems.length === 0}
        />
        <HowFields form={form} onChange={change} />
        <PlacementFields workspace={workspace} form={form} cases={read.cases.length} onChange={change} />
        {send.error !== null && <Refusal error={ApiError.from(send.error)} read={read} />}
        <Actions>
          {send.isPending && sent > 0 && <p role="status">{say("sending", { sent, count: read.cases.length })}</p>}
          <Button onClick={onClose}>{say("cancelStart")}</Button>
          <Button type="submit" kind="primary" icon="play" busy={send.isPending}>
            {say("startNow")}
          </Button>
        </Actions>
      </Form>
    </Dialog>
  );
}

function useSend(workspace: string, form: StartForm, read: CaseText) {
  const say = useText();
  const queries = useQueryClient();
  const [, go] = useLocation();
  const [sent, setSent] = useState(0);
  // One key as long as the same is wanted: what may have arrived is not made twice. What was refused is made anew.
  const wanted = useRef<{ readonly form: StartForm; readonly read: CaseText; readonly key: string }>(undefined);
  const keyOf = (): string => {
    const { current } = wanted;
    if (current?.form !== form || current.read !== read) wanted.current = { form, read, key: newKey() };
    return wanted.current?.key ?? newKey();
  };
  const send = useMutation({
    mutationFn: () => {
      const { assistant, name } = form;
      const about = { workspace, assistant, name, placement: placementOf(form), settings: settingsOf(form) };
      return sendEval({ ...about, cases: read.cases }, keyOf(), setSent);
    },
    onSuccess: (made) => {
      toast(say("started"));
      void queries.invalidateQueries({ queryKey: ["eval-pages"] });
      go(`/evals/${made.id}`);
    },
    onError: (error) => {
      if (!ApiError.from(error).isRetryable) wanted.current = undefined;
    },
    onSettled: () => setSent(0),
  });
  return { send, sent };
}

/** Why the coordinator refused it, by line where it is about cases. */
function Refusal({ error, read }: { readonly error: ApiError; readonly read: CaseText }): ReactNode {
  const say = useText();
  const refused = refusedCases(error, read.cases);
  const others = error.fields.filter(({ field }) => !field.startsWith("cases."));
  return (
    <div>
      <Failure error={error} />
      {refused.length > 0 && (
        <ul aria-label={say("refusedCases")}>
          {refused.map(({ line, id, message }) => (
            <li key={`${line} ${message}`}>
              <Problem>{say("refusedCase", { line, id, message })}</Problem>
            </li>
          ))}
        </ul>
      )}
      {refused.length === 0 &&
        others.map(({ field, message }) => (
          <Problem key={field}>
            <code>{field}</code> {message}
          </Problem>
        ))}
    </div>
  );
}

interface PartProps {
  readonly form: StartForm;
  readonly onChange: (change: Partial<StartForm>) => void;
}

function WhatFields({ workspace, form, onChange }: PartProps & { readonly workspace: string }): ReactNode {
  const say = useText();
  const assistants = useQuery({
    queryKey: ["assistants", workspace],
    queryFn: () => listAssistants({ workspace }),
  });
  const known = assistants.data?.assistants ?? [];
  return (
    <Fields>
      <SelectField
        label={say("assistant")}
        required
        value={form.assistant}
        options={[
          ["", say("choose")],
          ...known.map(({ id, name }) => [id, name === "" || name === id ? id : `${name} (${id})`] as const),
        ]}
        onChange={({ target }) => onChange({ assistant: target.value })}
      />
      <TextField
        label={say("name")}
        hint={say("nameHint")}
        maxLength={200}
        value={form.name}
        onChange={({ target }) => onChange({ name: target.value })}
      />
      <ConnectorField workspace={workspace} form={form} onChange={onChange} />
    </Fields>
  );
}

function ConnectorField({ workspace, form, onChange }: PartProps & { readonly workspace: string }): ReactNode {
  const say = useText();
  const connectors = useQuery({
    queryKey: ["connectors", workspace],
    queryFn: () => listConnectors({ workspace }),
  });
  return (
    <SelectField
      label={say("connector")}
      value={form.connector}
      options={[
        ["", say("ownConnector")],
        ...(connectors.data?.connectors.map(({ id, label }) => [id, label === "" ? id : `${label} (${id})`] as const) ??
          []),
      ]}
      onChange={({ target }) => onChange({ connector: target.value })}
    />
  );
}

function HowFields({ form, onChange }: PartProps): ReactNode {
  const say = useText();
  const number = (
    key: "runs" | "parallel" | "timeoutSeconds" | "perMinute",
    [min, max]: readonly [min: number, max: number],
    hint?: string,
  ): ReactNode => (
    <TextField
      label={say(key)}
      hint={hint}
      type="number"
      min={min}
      max={max}
      required={key !== "perMinute"}
      value={form[key]}
      onChange={({ target }) => onChange({ [key]: target.value })}
    />
  );
  return (
    <>
      <Fields>
        {number("runs", [1, 100], say("runsHint"))}
        {number("parallel", [1, 64], say("parallelHint"))}
        {number("timeoutSeconds", [1, 86_400])}
        {number("perMinute", [1, 1_000_000], say("perMinuteHint"))}
      </Fields>
      <CheckField
        label={say("failFast")}
        checked={form.failFast}
        onChange={({ target }) => onChange({ failFast: target.checked })}
      />
    </>
  );
}
