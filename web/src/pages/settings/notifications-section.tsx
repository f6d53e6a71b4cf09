/** Notifications: on this device, of what, and where else. */

import type { PushSubscription as Stored } from "@mesh/proto";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { listPushSubscriptions, removePushSubscription, testPush } from "../../api/accounts.ts";
import { PUSH_KINDS, type PushKind, pushSupport, turnPushOff, turnPushOn } from "../../app/push.ts";
import { Button } from "../../ui/button.tsx";
import { Main, Note, Row, Rows, Section } from "../../ui/list.tsx";
import { Badge, Loaded } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { Choices } from "./choices.tsx";
import { useText } from "./notifications-text.ts";

const KEY = ["push"];

/** The part. */
export function NotificationsSection(): ReactNode {
  const subscriptions = useQuery({ queryKey: KEY, queryFn: () => listPushSubscriptions({}) });
  return (
    <Loaded query={subscriptions}>
      {({ subscriptions: all }) => (
        <>
          <Here stored={all.find(({ is_current }) => is_current)} />
          <Devices all={all} />
        </>
      )}
    </Loaded>
  );
}

function Here({ stored }: { readonly stored: Stored | undefined }): ReactNode {
  const say = useText();
  const support = pushSupport();
  return (
    <Section title={say("here")}>
      <Note>{say("hereText")}</Note>
      {support === "yes" ? <Switch key={stored?.kinds.join()} stored={stored} /> : <p>{say(support)}</p>}
    </Section>
  );
}

function Switch({ stored }: { readonly stored: Stored | undefined }): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const kept = PUSH_KINDS.filter((kind) => stored?.kinds.includes(kind) ?? false);
  const [kinds, setKinds] = useState<readonly PushKind[]>(kept.length === 0 ? PUSH_KINDS : kept);
  const isOn = stored !== undefined;
  const turn = useMutation({
    mutationFn: async (to: readonly PushKind[]) => {
      if (to.length === 0) await turnPushOff();
      else if ((await turnPushOn(to)) === undefined) toast(say("refused"));
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: KEY }),
    onError: toastError,
  });
  const choose = (chosen: readonly string[]): void => {
    const next = PUSH_KINDS.filter((kind) => chosen.includes(kind));
    if (next.length === 0) return;
    setKinds(next);
    if (isOn) turn.mutate(next);
  };
  return (
    <>
      <Choices
        legend={say("kinds")}
        hint={say("oneKind")}
        options={PUSH_KINDS.map((kind) => [kind, say(kind)] as const)}
        chosen={kinds}
        onChange={choose}
      />
      <p role="status">{say(isOn ? "isOn" : "isOff")}</p>
      <div>
        <Button kind={isOn ? "plain" : "primary"} busy={turn.isPending} onClick={() => turn.mutate(isOn ? [] : kinds)}>
          {say(isOn ? "turnOff" : "turnOn")}
        </Button>
      </div>
    </>
  );
}

function Devices({ all }: { readonly all: readonly Stored[] }): ReactNode {
  const say = useText();
  return (
    <Section title={say("devices")}>
      {all.length === 0 ? (
        <Note>{say("noDevices")}</Note>
      ) : (
        <Rows label={say("devices")}>
          {all.map((one) => (
            <Device key={one.id} one={one} />
          ))}
        </Rows>
      )}
    </Section>
  );
}

function Device({ one }: { readonly one: Stored }): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const reload = (): Promise<void> => queries.invalidateQueries({ queryKey: KEY });
  const name = one.user_agent === "" ? say("unknownBrowser") : one.user_agent;
  const test = useMutation({
    mutationFn: () => testPush({ subscription: one.id }),
    onSuccess: ({ delivered, error }) => {
      toast(delivered ? say("tested") : say("testFailed", { error }));
      return reload();
    },
    onError: toastError,
  });
  const remove = useMutation({
    mutationFn: async () => {
      if (one.is_current) await turnPushOff();
      else await removePushSubscription({ subscription: one.id });
    },
    onSuccess: () => {
      toast(say("removed"));
      return reload();
    },
    onError: toastError,
  });
  return (
    <Row>
      <Main>
        <span>{name}</span>
        <Note>
          {one.service}, {say("since")} <Time at={one.created_at} />
          {one.last_success_at !== undefined && (
            <>
              , {say("lastAt")} <Time at={one.last_success_at} />
            </>
          )}
        </Note>
        {one.error !== "" && <Note>{say("failedWith", { error: one.error })}</Note>}
      </Main>
      {one.is_current && <Badge tone="info">{say("thisBrowser")}</Badge>}
      <Button busy={test.isPending} aria-label={say("test", { name })} onClick={() => test.mutate()}>
        {say("testShort")}
      </Button>
      <Button busy={remove.isPending} aria-label={say("remove", { name })} onClick={() => remove.mutate()}>
        {say("removeShort")}
      </Button>
    </Row>
  );
}
