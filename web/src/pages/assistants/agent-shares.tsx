/** Links to a task agent for people without an account. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { createShare, listShares, revokeShare } from "../../api/agents.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { Fields, Main, Note, Row, Rows, Section } from "../../ui/list.tsx";
import { Loaded } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { toastError } from "../../ui/toast.tsx";
import { useText } from "./text.ts";

const DAY = 86_400;

interface AgentSharesProps {
  readonly workspace: string;
  readonly agent: string;
}

/** The links that work, and how to make one. */
export function AgentShares({ workspace, agent }: AgentSharesProps): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const [access, setAccess] = useState("view");
  const [ttl, setTtl] = useState(String(7 * DAY));
  const again = (): Promise<void> => queries.invalidateQueries({ queryKey: ["shares", workspace] });
  const make = useMutation({
    mutationFn: () => createShare({ workspace, agent, access, ttl_seconds: Number(ttl) }),
    onSuccess: again,
    onError: toastError,
  });
  const url = make.data?.url;
  return (
    <Section title={say("shares")}>
      <Note>{say("sharesText")}</Note>
      <Fields>
        <SelectField
          label={say("access")}
          value={access}
          options={[
            ["view", say("view")],
            ["run", say("runIt")],
          ]}
          onChange={(event) => setAccess(event.target.value)}
        />
        <SelectField
          label={say("expires")}
          value={ttl}
          options={[
            ...[1, 7, 30].map((count) => [String(count * DAY), say("days", { count })] as const),
            ["0", say("forever")],
          ]}
          onChange={(event) => setTtl(event.target.value)}
        />
      </Fields>
      <div>
        <Button icon="link" busy={make.isPending} onClick={() => make.mutate()}>
          {say("makeLink")}
        </Button>
      </div>
      {url !== undefined && (
        <>
          <TextField label={say("linkOnce")} readOnly value={url} onFocus={(event) => event.target.select()} />
          <CopyButton text={url} />
        </>
      )}
      <ShareRows workspace={workspace} agent={agent} onRevoked={again} />
    </Section>
  );
}

function ShareRows({
  workspace,
  agent,
  onRevoked,
}: AgentSharesProps & { readonly onRevoked: () => Promise<void> }): ReactNode {
  const say = useText();
  const shares = useQuery({ queryKey: ["shares", workspace], queryFn: () => listShares({ workspace }) });
  const revoke = useMutation({
    mutationFn: (share: string) => revokeShare({ workspace, share }),
    onSuccess: onRevoked,
    onError: toastError,
  });
  return (
    <Loaded query={shares} lines={1}>
      {(answer) => {
        const own = answer.shares.filter(({ target }) => target === agent);
        if (own.length === 0) return <Note>{say("noShares")}</Note>;
        return (
          <Rows label={say("shares")}>
            {own.map((share) => (
              <Row key={share.id}>
                <Main>
                  <span>{say(share.access === "run" ? "runIt" : "view")}</span>
                  <Note>
                    {share.created_by}, <Time at={share.created_at} />, {say("opened", { count: share.opened })}
                  </Note>
                </Main>
                <Button kind="danger" disabled={revoke.isPending} onClick={() => revoke.mutate(share.id)}>
                  {say("revoke")}
                </Button>
              </Row>
            ))}
          </Rows>
        );
      }}
    </Loaded>
  );
}
