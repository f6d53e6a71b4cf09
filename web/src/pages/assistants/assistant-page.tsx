/** One assistant: to run it, to connect an app to it, and of a task agent also its links, files and versions. */

import type { Assistant, GetAgentResponse } from "@mesh/proto";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link, useLocation, useParams } from "wouter";

import { getAgent, removeAgent } from "../../api/agents.ts";
import { getAssistant } from "../../api/apps.ts";
import { ApiError } from "../../api/error.ts";
import { useWorkspace } from "../../app/workspace.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Code, Facts, Row, Rows, Section } from "../../ui/list.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { AgentShares } from "./agent-shares.tsx";
import { ConnectPanel } from "./connect-panel.tsx";
import { RunBox } from "./run-box.tsx";
import { useText } from "./text.ts";

/** The page. */
export default function AssistantPage(): ReactNode {
  const say = useText();
  const workspace = useWorkspace();
  const { assistant: id = "" } = useParams();
  const query = useQuery({
    queryKey: ["assistant", workspace, id],
    queryFn: () => getAssistant({ workspace, assistant: id }),
  });
  const agent = useQuery({ queryKey: ["agent", workspace, id], queryFn: () => readAgent(workspace, id) });
  const assistant = query.data?.assistant;
  return (
    <Page
      title={assistant === undefined ? say("title") : nameOf(assistant)}
      actions={
        <>
          <LinkButton href="/assistants" icon="back" kind="quiet">
            {say("toList")}
          </LinkButton>
          <LinkButton href={`/evals?assistant=${encodeURIComponent(id)}`} icon="eval">
            {say("evals")}
          </LinkButton>
          {agent.data?.agent !== undefined && <RemoveAgent workspace={workspace} agent={agent.data.agent} />}
        </>
      }
    >
      <Loaded query={query} lines={6}>
        {() =>
          assistant === undefined ? (
            <Empty icon="agent" title={say("notFound")} />
          ) : (
            <>
              <AssistantFacts assistant={assistant} />
              <RunBox workspace={workspace} assistant={assistant.id} />
              <ConnectPanel workspace={workspace} id={assistant.id} name={nameOf(assistant)} />
              {agent.data?.agent !== undefined && <AgentParts workspace={workspace} answer={agent.data} />}
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

function nameOf({ name, id }: Assistant): string {
  return name === "" ? id : name;
}

/** The task agent of this id; nothing where the assistant is one of an app. */
async function readAgent(workspace: string, id: string): Promise<Partial<GetAgentResponse>> {
  try {
    return await getAgent({ workspace, agent: id });
  } catch (thrown) {
    const error = ApiError.from(thrown);
    if (error.status === 404) return {};
    throw error;
  }
}

function AssistantFacts({ assistant }: { readonly assistant: Assistant }): ReactNode {
  const say = useText();
  return (
    <Facts
      facts={[
        [say("description"), assistant.description],
        [say("id"), <code key="id">{assistant.id}</code>],
        [say("app"), `${assistant.app}, ${say("version", { n: assistant.app_version })}`],
        [say("connector"), assistant.connector === "" ? say("byDefault") : assistant.connector],
        [say("tags"), assistant.tags.join(", ")],
      ]}
    />
  );
}

interface RemoveAgentProps {
  readonly workspace: string;
  readonly agent: { readonly id: string; readonly name: string };
}

function RemoveAgent({ workspace, agent: { id, name } }: RemoveAgentProps): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const [, go] = useLocation();
  const [asks, setAsks] = useState(false);
  const remove = useMutation({
    mutationFn: () => removeAgent({ workspace, agent: id }),
    onSuccess: () => {
      toast(say("removed", { name }));
      const keys = ["agents", "assistants"];
      void queries.invalidateQueries({ predicate: ({ queryKey: [key] }) => keys.includes(String(key)) });
      go("/assistants");
    },
    onError: toastError,
  });
  return (
    <>
      <Button kind="danger" icon="trash" busy={remove.isPending} onClick={() => setAsks(true)}>
        {say("remove")}
      </Button>
      {asks && (
        <Confirm
          title={say("removeTitle", { name })}
          text={say("removeText")}
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

interface AgentPartsProps {
  readonly workspace: string;
  readonly answer: Partial<GetAgentResponse>;
}

function AgentParts({ workspace, answer: { agent, files = [], versions = [] } }: AgentPartsProps): ReactNode {
  const say = useText();
  if (agent === undefined) return null;
  return (
    <>
      <AgentShares workspace={workspace} agent={agent.id} />
      <Section title={say("files")}>
        {files.map(({ path, text }) => (
          <details key={path}>
            <summary>{path}</summary>
            <Code label={path}>{text}</Code>
          </details>
        ))}
      </Section>
      <Section title={say("versions")}>
        <Rows label={say("versions")}>
          {versions.map(({ version, created_at, created_by }) => (
            <Row key={version}>
              <span>{say("version", { n: version })}</span>
              <Time at={created_at} exact />
              <span>{created_by}</span>
            </Row>
          ))}
        </Rows>
        <Link href={`/task/${agent.task_id}`}>{say("fromTask", { task: agent.task_key })}</Link>
      </Section>
    </>
  );
}
