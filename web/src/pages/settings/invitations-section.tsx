/** Links that let people join a workspace. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { createInvitation, listInvitations, revokeInvitation } from "../../api/accounts.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { Fields, Form, Main, Note, Row, Rows, Section } from "../../ui/list.tsx";
import { Loaded } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { toastError } from "../../ui/toast.tsx";
import { useRoleOptions } from "./role-options.ts";
import { useText } from "./text.ts";
import { later } from "../../ui/later.tsx";

const QrCode = later(() => import("../../ui/qr.tsx"), { lines: 2 });
const DAY = 86_400;

/** The part. */
export function InvitationsSection({ workspace }: { readonly workspace: string }): ReactNode {
  const say = useText();
  const roles = useRoleOptions();
  const queries = useQueryClient();
  const [role, setRole] = useState("member");
  const [uses, setUses] = useState("1");
  const [ttl, setTtl] = useState(String(7 * DAY));
  const again = (): Promise<void> => queries.invalidateQueries({ queryKey: ["invitations", workspace] });
  const make = useMutation({
    mutationFn: () => createInvitation({ workspace, role, uses: Number(uses), ttl_seconds: Number(ttl) }),
    onSuccess: again,
    onError: toastError,
  });
  return (
    <Section title={say("invitations")}>
      <Note>{say("invitationsText")}</Note>
      <Form onSubmit={() => make.mutate()}>
        <Fields>
          <SelectField
            label={say("role")}
            value={role}
            options={roles}
            onChange={(event) => setRole(event.target.value)}
          />
          <TextField
            label={say("uses")}
            type="number"
            min={1}
            max={100}
            required
            value={uses}
            onChange={(event) => setUses(event.target.value)}
          />
          <SelectField
            label={say("expires")}
            value={ttl}
            options={[1, 7, 30].map((count) => [String(count * DAY), say("days", { count })] as const)}
            onChange={(event) => setTtl(event.target.value)}
          />
        </Fields>
        <div>
          <Button type="submit" icon="link" busy={make.isPending}>
            {say("invite")}
          </Button>
        </div>
      </Form>
      {make.data !== undefined && <MadeLink url={make.data.url} />}
      <Open workspace={workspace} onRevoked={again} />
    </Section>
  );
}

function MadeLink({ url }: { readonly url: string }): ReactNode {
  const say = useText();
  return (
    <>
      <TextField label={say("linkOnce")} readOnly value={url} onFocus={(event) => event.target.select()} />
      <div>
        <CopyButton text={url} />
      </div>
      <QrCode text={url} label={say("qr")} />
    </>
  );
}

interface OpenProps {
  readonly workspace: string;
  readonly onRevoked: () => Promise<void>;
}

function Open({ workspace, onRevoked }: OpenProps): ReactNode {
  const say = useText();
  const invitations = useQuery({
    queryKey: ["invitations", workspace],
    queryFn: () => listInvitations({ workspace }),
  });
  const revoke = useMutation({
    mutationFn: (invitation: string) => revokeInvitation({ workspace, invitation }),
    onSuccess: onRevoked,
    onError: toastError,
  });
  return (
    <Loaded query={invitations} lines={1}>
      {(answer) =>
        answer.invitations.length === 0 ? (
          <Note>{say("noInvitations")}</Note>
        ) : (
          <Rows label={say("invitations")}>
            {answer.invitations.map(({ id, role, uses_left, created_by, expires_at }) => (
              <Row key={id}>
                <Main>
                  <span>
                    {say(role === "owner" || role === "viewer" ? role : "member")},{" "}
                    {say("usesLeft", { count: uses_left })}
                  </span>
                  <Note>
                    {created_by}, {say("until")} <Time at={expires_at} exact />
                  </Note>
                </Main>
                <Button kind="danger" disabled={revoke.isPending} onClick={() => revoke.mutate(id)}>
                  {say("revoke")}
                </Button>
              </Row>
            ))}
          </Rows>
        )
      }
    </Loaded>
  );
}
