/** Behind an invitation: joins with the account that is logged in, or makes one. */

import type { Invitation } from "@mesh/proto";
import { type ReactNode, useEffect, useState } from "react";
import { Link, useLocation, useParams } from "wouter";

import { acceptInvitation, getInvitation } from "../../api/accounts.ts";
import { ApiError } from "../../api/error.ts";
import { useSession } from "../../app/session.ts";
import { useWorkspaceChoice } from "../../app/workspace.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { useTitle } from "../../ui/page.tsx";
import { Failure, Skeleton } from "../../ui/state.tsx";
import { useLoad } from "../../ui/use-load.ts";
import style from "../login/login.module.css";
import { useText } from "./text.ts";

/** The page. */
export default function JoinPage(): ReactNode {
  const say = useText();
  const { code } = useParams();
  const [, go] = useLocation();
  const [typed, setTyped] = useState("");
  useTitle(say("title"));
  return (
    <main className={style.main}>
      <h1>{say("title")}</h1>
      {code === undefined ? (
        <form
          className={style.form}
          onSubmit={(event) => {
            event.preventDefault();
            go(`/join/${encodeURIComponent(typed.trim())}`);
          }}
        >
          <TextField label={say("code")} required value={typed} onChange={(event) => setTyped(event.target.value)} />
          <Button type="submit" kind="primary">
            {say("next")}
          </Button>
        </form>
      ) : (
        <Invited code={code} />
      )}
    </main>
  );
}

function Invited({ code }: { readonly code: string }): ReactNode {
  const { status, load } = useSession();
  const invitation = useLoad(() => getInvitation({ code }), code);
  useEffect(() => {
    if (status === "unknown") void load();
  }, [status, load]);
  if (invitation.error !== undefined) return <Failure error={invitation.error} onRetry={invitation.reload} />;
  if (invitation.data?.invitation === undefined || status === "unknown") return <Skeleton />;
  return <Accept code={code} invitation={invitation.data.invitation} />;
}

function Accept({ code, invitation }: { readonly code: string; readonly invitation: Invitation }): ReactNode {
  const say = useText();
  const [, go] = useLocation();
  const account = useSession((state) => state.account);
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const { role } = invitation;
  const accept = async (request: { name?: string; password?: string; display_name?: string }): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      const answer = await acceptInvitation({ code, ...request });
      if (answer.account !== undefined) useSession.getState().enter(answer.account, answer.csrf_token);
      useWorkspaceChoice.getState().choose(answer.workspace_id);
      go("/board");
    } catch (thrown) {
      setError(ApiError.from(thrown).message);
    } finally {
      setBusy(false);
    }
  };
  const roleText = role === "owner" || role === "viewer" ? say(role) : say("member");
  return (
    <>
      <p>{say("invites", { workspace: invitation.workspace, role: roleText })}</p>
      {error !== undefined && (
        <p role="alert" className={style.error}>
          {error}
        </p>
      )}
      {account === undefined ? (
        <>
          <NewAccount isBusy={isBusy} onMake={(request) => void accept(request)} />
          <Link href={`/login?to=${encodeURIComponent(`/join/${code}`)}`}>{say("haveAccount")}</Link>
        </>
      ) : (
        <Button kind="primary" busy={isBusy} onClick={() => void accept({})}>
          {say("asYou", { name: account.display_name === "" ? account.name : account.display_name })}
        </Button>
      )}
    </>
  );
}

function NewAccount(props: {
  readonly isBusy: boolean;
  readonly onMake: (request: { name: string; password: string; display_name: string }) => void;
}): ReactNode {
  const say = useText();
  const [name, setName] = useState("");
  const [displayName, setDisplayName] = useState("");
  const [password, setPassword] = useState("");
  return (
    <form
      className={style.form}
      onSubmit={(event) => {
        event.preventDefault();
        props.onMake({ name, password, display_name: displayName });
      }}
    >
      <h2>{say("newAccount")}</h2>
      <TextField
        label={say("name")}
        autoComplete="username"
        autoCapitalize="none"
        required
        maxLength={63}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <TextField
        label={say("displayName")}
        autoComplete="name"
        maxLength={100}
        value={displayName}
        onChange={(event) => setDisplayName(event.target.value)}
      />
      <TextField
        label={say("password")}
        hint={say("passwordHint")}
        type="password"
        autoComplete="new-password"
        required
        minLength={10}
        maxLength={200}
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      <Button type="submit" kind="primary" busy={props.isBusy}>
        {say("join")}
      </Button>
    </form>
  );
}
