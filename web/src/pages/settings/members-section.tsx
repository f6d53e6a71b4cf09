/** Who is in the workspace, and links that let people in. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { listMembers, putMember, removeMember } from "../../api/workspaces.ts";
import { useWorkspace } from "../../app/workspace.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { Fields, Form, Main, Row, Rows, Section } from "../../ui/list.tsx";
import { Loaded } from "../../ui/state.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { InvitationsSection } from "./invitations-section.tsx";
import { useRoleOptions } from "./role-options.ts";
import { useText } from "./text.ts";

/** The part. */
export function MembersSection(): ReactNode {
  const say = useText();
  const workspace = useWorkspace();
  const queries = useQueryClient();
  const roles = useRoleOptions();
  const [asks, setAsks] = useState<string>();
  const again = (): Promise<void> => queries.invalidateQueries({ queryKey: ["members", workspace] });
  const members = useQuery({ queryKey: ["members", workspace], queryFn: () => listMembers({ workspace }) });
  const put = useMutation({
    mutationFn: (change: { user: string; role: string }) => putMember({ workspace, ...change }),
    onSuccess: (_answer, { user }) => {
      toast(say("added", { name: user }));
      return again();
    },
    onError: toastError,
  });
  const remove = useMutation({
    mutationFn: (user: string) => removeMember({ workspace, user }),
    onSuccess: again,
    onError: toastError,
  });
  return (
    <>
      <Section title={say("members")}>
        <Loaded query={members}>
          {(answer) => (
            <Rows label={say("members")}>
              {answer.members.map(({ user, role }) => (
                <Row key={user}>
                  <Main>
                    <strong>{user}</strong>
                  </Main>
                  <SelectField
                    label={say("roleOf", { name: user })}
                    hideLabel
                    value={role}
                    options={roles}
                    onChange={(event) => put.mutate({ user, role: event.target.value })}
                  />
                  <IconButton icon="trash" label={say("removeNamed", { name: user })} onClick={() => setAsks(user)} />
                </Row>
              ))}
            </Rows>
          )}
        </Loaded>
        <AddMember isBusy={put.isPending} onAdd={put.mutate} />
      </Section>
      <InvitationsSection workspace={workspace} />
      {asks !== undefined && (
        <Confirm
          title={say("removeMember", { name: asks })}
          text={say("removeMemberText", { name: asks })}
          action={say("remove")}
          onClose={() => setAsks(undefined)}
          onYes={() => {
            remove.mutate(asks);
            setAsks(undefined);
          }}
        />
      )}
    </>
  );
}

interface AddMemberProps {
  readonly isBusy: boolean;
  readonly onAdd: (change: { user: string; role: string }) => void;
}

function AddMember({ isBusy, onAdd }: AddMemberProps): ReactNode {
  const say = useText();
  const roles = useRoleOptions();
  const [user, setUser] = useState("");
  const [role, setRole] = useState("member");
  return (
    <Form onSubmit={() => onAdd({ user, role })}>
      <Fields>
        <TextField
          label={say("user")}
          required
          maxLength={100}
          value={user}
          onChange={(event) => setUser(event.target.value)}
        />
        <SelectField
          label={say("role")}
          value={role}
          options={roles}
          onChange={(event) => setRole(event.target.value)}
        />
      </Fields>
      <div>
        <Button type="submit" busy={isBusy}>
          {say("addMember")}
        </Button>
      </div>
    </Form>
  );
}
