/** The person: name, looks, password, and where they are logged in. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { changePassword, endSession, listSessions, updateAccount } from "../../api/accounts.ts";
import { preferencesOf, savePreferences, useSession } from "../../app/session.ts";
import { THEMES, themeOf, useTheme } from "../../app/theme.ts";
import { LOCALE_NAMES, LOCALES, localeOf, useLocale } from "../../i18n/locale.ts";
import { Button } from "../../ui/button.tsx";
import { CheckField, SelectField, TextField } from "../../ui/field.tsx";
import { Facts, Fields, Form, Main, Note, Row, Rows, Section } from "../../ui/list.tsx";
import { Badge, Loaded } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { useText } from "./text.ts";

/** The part. */
export function AccountSection(): ReactNode {
  return (
    <>
      <Profile />
      <Password />
      <Sessions />
    </>
  );
}

function Profile(): ReactNode {
  const say = useText();
  const account = useSession((state) => state.account);
  const [name, setName] = useState(account?.display_name ?? "");
  const save = useMutation({
    mutationFn: () => updateAccount({ display_name: name }),
    onSuccess: (answer) => {
      useSession.setState({ account: answer.account });
      toast(say("saved"));
    },
    onError: toastError,
  });
  return (
    <Section title={say("profile")}>
      <Facts facts={[[say("loginName"), account?.name]]} />
      <Form onSubmit={() => save.mutate()}>
        <TextField
          label={say("displayName")}
          maxLength={100}
          autoComplete="name"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <div>
          <Button type="submit" busy={save.isPending}>
            {say("save")}
          </Button>
        </div>
      </Form>
      <Looks />
    </Section>
  );
}

function Looks(): ReactNode {
  const say = useText();
  const account = useSession((state) => state.account);
  const { theme, setTheme } = useTheme();
  const { locale, setLocale } = useLocale();
  const { letters, readReplies } = preferencesOf(account);
  const keep = (change: { theme?: string; locale?: string }): void => void updateAccount(change).catch(toastError);
  const prefer = (change: Parameters<typeof savePreferences>[0]): void =>
    void savePreferences(change).catch(toastError);
  return (
    <>
      <Fields>
        <SelectField
          label={say("language")}
          value={locale}
          options={LOCALES.map((one) => [one, LOCALE_NAMES[one]] as const)}
          onChange={({ target }) => {
            setLocale(localeOf(target.value) ?? "en");
            keep({ locale: target.value.toLowerCase() });
          }}
        />
        <SelectField
          label={say("theme")}
          value={theme}
          options={THEMES.map((one) => [one, say(one)] as const)}
          onChange={({ target }) => {
            setTheme(themeOf(target.value));
            keep({ theme: target.value });
          }}
        />
      </Fields>
      <CheckField
        label={say("letters")}
        checked={letters}
        onChange={({ target }) => prefer({ letters: target.checked })}
      />
      <CheckField
        label={say("readReplies")}
        checked={readReplies}
        onChange={({ target }) => prefer({ readReplies: target.checked })}
      />
    </>
  );
}

function Password(): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const account = useSession((state) => state.account);
  const hasPassword = account?.has_password === true;
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const change = useMutation({
    mutationFn: () => changePassword({ current, password }),
    onSuccess: () => {
      setCurrent("");
      setPassword("");
      toast(say("passwordSet"));
      void useSession.getState().load();
      return queries.invalidateQueries({ queryKey: ["sessions"] });
    },
    onError: toastError,
  });
  return (
    <Section title={say("password")}>
      {!hasPassword && <Note>{say("noPassword")}</Note>}
      <Form onSubmit={() => change.mutate()}>
        {/* Password managers look for the name that belongs to it. */}
        <input type="text" hidden readOnly autoComplete="username" value={account?.name ?? ""} />
        {hasPassword && (
          <TextField
            label={say("current")}
            type="password"
            autoComplete="current-password"
            required
            value={current}
            onChange={(event) => setCurrent(event.target.value)}
          />
        )}
        <TextField
          label={say("newPassword")}
          hint={say("passwordHint")}
          type="password"
          autoComplete="new-password"
          required
          minLength={10}
          maxLength={200}
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <div>
          <Button type="submit" busy={change.isPending}>
            {say("setPassword")}
          </Button>
        </div>
      </Form>
    </Section>
  );
}

function Sessions(): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const sessions = useQuery({ queryKey: ["sessions"], queryFn: () => listSessions({}) });
  const end = useMutation({
    mutationFn: (session: string) => endSession({ session }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["sessions"] }),
    onError: toastError,
  });
  return (
    <Section title={say("sessions")}>
      <Loaded query={sessions}>
        {(answer) => (
          <Rows label={say("sessions")}>
            {answer.sessions.map(({ id, user_agent, last_used_at, is_current }) => (
              <Row key={id}>
                <Main>
                  <span>{user_agent === "" ? say("unknownBrowser") : user_agent}</span>
                  <Note>
                    {say("lastUsed")} <Time at={last_used_at} />
                  </Note>
                </Main>
                {is_current ? (
                  <Badge tone="info">{say("thisBrowser")}</Badge>
                ) : (
                  <Button disabled={end.isPending} onClick={() => end.mutate(id)}>
                    {say("logOut")}
                  </Button>
                )}
              </Row>
            ))}
          </Rows>
        )}
      </Loaded>
    </Section>
  );
}
