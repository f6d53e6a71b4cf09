/** Lets a person in: by name and password, one-time code or provider. Without any password it tells how to set up. */

import type { GetLoginOptionsResponse } from "@mesh/proto";
import { type ReactNode, useEffect, useState } from "react";
import { Redirect, useSearchParams } from "wouter";

import { getLoginOptions } from "../../api/accounts.ts";
import { ApiError } from "../../api/error.ts";
import { usedLoginCode } from "../../app/login-link.ts";
import { enterWith, useSession } from "../../app/session.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { useTitle } from "../../ui/page.tsx";
import { Failure, Skeleton } from "../../ui/state.tsx";
import { useLoad } from "../../ui/use-load.ts";
import style from "./login.module.css";
import { useText } from "./text.ts";

/** The page. */
export default function LoginPage(): ReactNode {
  const say = useText();
  const [search] = useSearchParams();
  const status = useSession((state) => state.status);
  const options = useLoad(() => getLoginOptions({}), "login");
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const isSetup = options.data?.passwords === false && options.data.oidc_label === "";
  const title = isSetup ? say("setup") : say("title");
  useTitle(title);

  const enter = (request: Parameters<typeof enterWith>[0]): void => {
    setBusy(true);
    setError(undefined);
    enterWith(request)
      .catch((thrown: unknown) => {
        const reason = ApiError.from(thrown).message;
        setError(request.code === undefined ? reason : say("codeFailed", { reason }));
      })
      .finally(() => setBusy(false));
  };
  useEffect(() => {
    const code = usedLoginCode();
    if (code !== undefined) enter({ code });
    // The code is there once.
  }, []);

  if (status === "in") return <Redirect to={safePlace(search.get("to"))} replace />;
  return (
    <main className={style.main}>
      <h1>{title}</h1>
      {error !== undefined && (
        <p role="alert" className={style.error}>
          {error}
        </p>
      )}
      {options.data === undefined && options.error === undefined && <Skeleton />}
      {options.error !== undefined && <Failure error={options.error} onRetry={options.reload} />}
      {options.data !== undefined && <Ways options={options.data} isSetup={isSetup} isBusy={isBusy} onEnter={enter} />}
    </main>
  );
}

/** Only a place on this page: an address elsewhere would be somebody's trap. */
export function safePlace(to: string | null): string {
  return to !== null && /^\/(?![/\\])/.test(to) && !to.startsWith("/login") ? to : "/board";
}

interface WaysProps {
  readonly options: GetLoginOptionsResponse;
  readonly isSetup: boolean;
  readonly isBusy: boolean;
  readonly onEnter: (request: { name?: string; password?: string; code?: string }) => void;
}

function Ways({ options, isSetup, isBusy, onEnter }: WaysProps): ReactNode {
  const say = useText();
  const [withCode, setWithCode] = useState(isSetup);
  return (
    <>
      {isSetup && (
        <div className={style.setup}>
          <p>{say("setupText")}</p>
          <code>yao web</code>
        </div>
      )}
      {options.passwords && <PasswordForm isBusy={isBusy} onEnter={onEnter} />}
      {options.oidc_label !== "" && (
        <a className={style.oidc} href="/v1/oidc/start">
          {say("oidc", { label: options.oidc_label })}
        </a>
      )}
      {withCode ? (
        <CodeForm isBusy={isBusy} onEnter={onEnter} />
      ) : (
        <Button kind="quiet" onClick={() => setWithCode(true)}>
          {say("withCode")}
        </Button>
      )}
    </>
  );
}

function PasswordForm({ isBusy, onEnter }: Pick<WaysProps, "isBusy" | "onEnter">): ReactNode {
  const say = useText();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  return (
    <form
      className={style.form}
      onSubmit={(event) => {
        event.preventDefault();
        onEnter({ name, password });
      }}
    >
      <TextField
        label={say("name")}
        autoComplete="username"
        autoCapitalize="none"
        required
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <TextField
        label={say("password")}
        type="password"
        autoComplete="current-password"
        required
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      <Button type="submit" kind="primary" busy={isBusy}>
        {say("logIn")}
      </Button>
    </form>
  );
}

function CodeForm({ isBusy, onEnter }: Pick<WaysProps, "isBusy" | "onEnter">): ReactNode {
  const say = useText();
  const [code, setCode] = useState("");
  return (
    <form
      className={style.form}
      onSubmit={(event) => {
        event.preventDefault();
        onEnter({ code: code.trim() });
      }}
    >
      <TextField
        label={say("code")}
        hint={say("codeHint")}
        autoComplete="one-time-code"
        required
        value={code}
        onChange={(event) => setCode(event.target.value)}
      />
      <Button type="submit" busy={isBusy}>
        {say("useCode")}
      </Button>
    </form>
  );
}
