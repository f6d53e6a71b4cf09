/** The assistants of a workspace: those of apps, and those that grew out of tasks. */

import type { Agent, Assistant } from "@mesh/proto";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";

import { listAgents } from "../../api/agents.ts";
import { listAssistants } from "../../api/apps.ts";
import { useWorkspace } from "../../app/workspace.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Code, Line, Main, Note, Row, Rows, Section } from "../../ui/list.tsx";
import { Page } from "../../ui/page.tsx";
import { Badge, Empty, Loaded } from "../../ui/state.tsx";
import { useText } from "./text.ts";

/** The page. */
export default function AssistantsPage(): ReactNode {
  const say = useText();
  const workspace = useWorkspace();
  const assistants = useQuery({
    queryKey: ["assistants", workspace],
    queryFn: () => listAssistants({ workspace }),
  });
  const agents = useQuery({ queryKey: ["agents", workspace], queryFn: () => listAgents({ workspace }) });
  return (
    <Page title={say("title")}>
      <Loaded query={assistants} lines={6}>
        {(answer) => (
          <Loaded query={agents}>
            {({ agents: grown }) => {
              const ids = new Set(grown.map(({ id }) => id));
              // A task agent is an assistant too; it is listed once.
              const plain = answer.assistants.filter(({ id }) => !ids.has(id));
              return plain.length + grown.length === 0 ? <Nothing /> : <Lists assistants={plain} agents={grown} />;
            }}
          </Loaded>
        )}
      </Loaded>
    </Page>
  );
}

function Nothing(): ReactNode {
  const say = useText();
  return (
    <Empty icon="agent" title={say("none")} text={say("noneText")}>
      <Code label={say("push")}>yao app push ./my-app</Code>
      <LinkButton href="/board" kind="primary">
        {say("toBoard")}
      </LinkButton>
    </Empty>
  );
}

interface ListsProps {
  readonly assistants: readonly Assistant[];
  readonly agents: readonly Agent[];
}

function Lists({ assistants, agents }: ListsProps): ReactNode {
  const say = useText();
  return (
    <>
      <Section title={say("agents")}>
        {agents.length === 0 ? (
          <Note>{say("noAgents")}</Note>
        ) : (
          <Rows label={say("agents")}>
            {agents.map(({ id, name, description, version, task_key }) => (
              <EntryRow key={id} id={id} name={name} description={description}>
                <Badge>{say("version", { n: version })}</Badge>
                <Note>{say("fromTask", { task: task_key })}</Note>
              </EntryRow>
            ))}
          </Rows>
        )}
      </Section>
      <Section title={say("assistants")}>
        <Rows label={say("assistants")}>
          {assistants.map(({ id, name, description, app, tags }) => (
            <EntryRow key={id} id={id} name={name === "" ? id : name} description={description}>
              {tags.map((tag) => (
                <Badge key={tag}>{tag}</Badge>
              ))}
              <Note>{app}</Note>
            </EntryRow>
          ))}
        </Rows>
      </Section>
    </>
  );
}

interface EntryRowProps {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly children: ReactNode;
}

function EntryRow({ id, name, description, children }: EntryRowProps): ReactNode {
  return (
    <Row>
      <Main>
        <Link href={`/assistants/${encodeURIComponent(id)}`}>
          <strong>{name}</strong>
        </Link>
        <Note>{description}</Note>
      </Main>
      <Line>{children}</Line>
    </Row>
  );
}
