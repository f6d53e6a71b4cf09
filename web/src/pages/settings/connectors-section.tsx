/** How assistants reach models: add, change, test and remove. */

import type { Connector, TestConnectorResponse } from "@mesh/proto";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { listConnectors, removeConnector, testConnector } from "../../api/connectors.ts";
import { useWorkspace } from "../../app/workspace.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Line, Main, Note, Row, Rows, Section } from "../../ui/list.tsx";
import { Badge, Loaded } from "../../ui/state.tsx";
import { toastError } from "../../ui/toast.tsx";
import { useText } from "./access-text.ts";
import { ConnectorDialog } from "./connector-dialog.tsx";

/** The part. */
export function ConnectorsSection(): ReactNode {
  const say = useText();
  const workspace = useWorkspace();
  const [edited, setEdited] = useState<Connector | "new">();
  const connectors = useQuery({
    queryKey: ["connectors", workspace],
    queryFn: () => listConnectors({ workspace }),
  });
  return (
    <Section
      title={say("connectors")}
      actions={
        <Button icon="plus" kind="primary" onClick={() => setEdited("new")}>
          {say("addConnector")}
        </Button>
      }
    >
      <Note>{say("connectorsText")}</Note>
      <Loaded query={connectors}>
        {(answer) =>
          answer.connectors.length === 0 ? (
            <Note>{say("noConnectors")}</Note>
          ) : (
            <Rows label={say("connectors")}>
              {answer.connectors.map((connector) => (
                <ConnectorRow
                  key={connector.id}
                  workspace={workspace}
                  connector={connector}
                  onEdit={() => setEdited(connector)}
                />
              ))}
            </Rows>
          )
        }
      </Loaded>
      {edited !== undefined && (
        <ConnectorDialog
          workspace={workspace}
          connector={edited === "new" ? undefined : edited}
          onClose={() => setEdited(undefined)}
        />
      )}
    </Section>
  );
}

interface ConnectorRowProps {
  readonly workspace: string;
  readonly connector: Connector;
  readonly onEdit: () => void;
}

function ConnectorRow({ workspace, connector, onEdit }: ConnectorRowProps): ReactNode {
  const say = useText();
  const { id, type, model, host, label, source, has_key } = connector;
  const test = useMutation({
    mutationFn: () => testConnector({ workspace, connector: id }),
    onError: toastError,
  });
  const isOwn = source === "workspace";
  return (
    <Row>
      <Main>
        <Line>
          <strong>{label === "" ? id : label}</strong>
          <code>{id}</code>
          <Badge>{say(isOwn ? "source_workspace" : source === "app" ? "source_app" : "source_builtin")}</Badge>
          {isOwn && <Badge tone={has_key ? "good" : "plain"}>{say(has_key ? "hasKey" : "noKey")}</Badge>}
        </Line>
        <Note>{[type, model, host].filter((text) => text !== "").join(" · ")}</Note>
        <div role="status">{test.data !== undefined && <TestResult result={test.data} />}</div>
      </Main>
      <Line>
        <Button
          icon="play"
          busy={test.isPending}
          aria-label={say("testNamed", { name: id })}
          onClick={() => test.mutate()}
        >
          {say(test.isPending ? "testing" : "test")}
        </Button>
        {isOwn && (
          <>
            <IconButton icon="edit" label={say("editNamed", { name: id })} onClick={onEdit} />
            <RemoveConnector workspace={workspace} id={id} />
          </>
        )}
      </Line>
    </Row>
  );
}

function TestResult({ result }: { readonly result: TestConnectorResponse }): ReactNode {
  const say = useText();
  const { ok, summary, fix, duration_ms } = result;
  return (
    <>
      <Line>
        <Badge tone={ok ? "good" : "danger"} icon={ok ? "check" : "warning"}>
          {say(ok ? "works" : "fails")}
        </Badge>
        <span>
          {summary}, {say("tookMs", { ms: duration_ms })}
        </span>
      </Line>
      {fix !== "" && <Note>{say("fix", { fix })}</Note>}
    </>
  );
}

function RemoveConnector({ workspace, id }: { readonly workspace: string; readonly id: string }): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const [asks, setAsks] = useState(false);
  const remove = useMutation({
    mutationFn: () => removeConnector({ workspace, connector: id }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["connectors", workspace] }),
    onError: toastError,
  });
  return (
    <>
      <IconButton icon="trash" label={say("removeNamed", { name: id })} onClick={() => setAsks(true)} />
      {asks && (
        <Confirm
          title={say("removeConnector", { name: id })}
          text={say("removeConnectorText")}
          action={say("remove")}
          onClose={() => setAsks(false)}
          onYes={() => {
            setAsks(false);
            remove.mutate();
          }}
        />
      )}
    </>
  );
}
