/** Variables of a workspace; values go in and never come out. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { listSecrets, putSecret, removeSecret } from "../../api/workspaces.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { Fields, Form, Main, Note, Row, Rows, Section } from "../../ui/list.tsx";
import { Loaded } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { toastError } from "../../ui/toast.tsx";
import { useText } from "./text.ts";

/** The part. */
export function SecretsSection({ workspace }: { readonly workspace: string }): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const [asks, setAsks] = useState<string>();
  const again = (): Promise<void> => queries.invalidateQueries({ queryKey: ["secrets", workspace] });
  const secrets = useQuery({ queryKey: ["secrets", workspace], queryFn: () => listSecrets({ workspace }) });
  const remove = useMutation({
    mutationFn: (gone: string) => removeSecret({ workspace, name: gone }),
    onSuccess: again,
    onError: toastError,
  });
  return (
    <Section title={say("variables")}>
      <Note>{say("variablesText")}</Note>
      <Loaded query={secrets} lines={2}>
        {(answer) =>
          answer.secrets.length === 0 ? (
            <Note>{say("noVariables")}</Note>
          ) : (
            <Rows label={say("variables")}>
              {answer.secrets.map((secret) => (
                <Row key={secret.name}>
                  <Main>
                    <code>{secret.name}</code>
                    <Note>
                      {say("setBy", { name: secret.updated_by })}, <Time at={secret.updated_at} />
                    </Note>
                  </Main>
                  <IconButton
                    icon="trash"
                    label={say("removeNamed", { name: secret.name })}
                    onClick={() => setAsks(secret.name)}
                  />
                </Row>
              ))}
            </Rows>
          )
        }
      </Loaded>
      <PutSecret workspace={workspace} onDone={again} />
      {asks !== undefined && (
        <Confirm
          title={say("removeVariable", { name: asks })}
          text={say("removeVariableText")}
          action={say("remove")}
          onClose={() => setAsks(undefined)}
          onYes={() => {
            remove.mutate(asks);
            setAsks(undefined);
          }}
        />
      )}
    </Section>
  );
}

interface PutSecretProps {
  readonly workspace: string;
  readonly onDone: () => Promise<void>;
}

function PutSecret({ workspace, onDone }: PutSecretProps): ReactNode {
  const say = useText();
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const put = useMutation({
    mutationFn: () => putSecret({ workspace, name, value }),
    onSuccess: () => {
      setName("");
      setValue("");
      return onDone();
    },
    onError: toastError,
  });
  return (
    <Form onSubmit={() => put.mutate()}>
      <Fields>
        <TextField
          label={say("variableName")}
          hint={say("variableHint")}
          required
          pattern="[A-Z_][A-Z0-9_]{0,63}"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <TextField
          label={say("value")}
          type="password"
          autoComplete="new-password"
          required
          maxLength={8_192}
          value={value}
          onChange={(event) => setValue(event.target.value)}
        />
      </Fields>
      <div>
        <Button type="submit" busy={put.isPending}>
          {say("setVariable")}
        </Button>
      </div>
    </Form>
  );
}
