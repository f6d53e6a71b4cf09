/** Webhooks: made, tested, given a new secret, and what was sent to them. */

import type { Webhook } from "@mesh/proto";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { listWebhooks, removeWebhook, rotateWebhookSecret, testWebhook, updateWebhook } from "../../api/webhooks.ts";
import { useWorkspace } from "../../app/workspace.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Line, Main, Note, Problem, Row, Rows, Section } from "../../ui/list.tsx";
import { Menu } from "../../ui/menu.tsx";
import { Badge, Loaded } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { useText } from "./access-text.ts";
import { DeliveriesDialog, SecretDialog, WebhookDialog } from "./webhook-dialogs.tsx";

/** The part. */
export function WebhooksSection(): ReactNode {
  const say = useText();
  const workspace = useWorkspace();
  const [isAdding, setAdding] = useState(false);
  const webhooks = useQuery({ queryKey: ["webhooks", workspace], queryFn: () => listWebhooks({ workspace }) });
  return (
    <Section
      title={say("webhooks")}
      actions={
        <Button icon="plus" kind="primary" onClick={() => setAdding(true)}>
          {say("addWebhook")}
        </Button>
      }
    >
      <Note>{say("webhooksText")}</Note>
      <Loaded query={webhooks}>
        {(answer) =>
          answer.webhooks.length === 0 ? (
            <Note>{say("noWebhooks")}</Note>
          ) : (
            <Rows label={say("webhooks")}>
              {answer.webhooks.map((webhook) => (
                <WebhookRow key={webhook.id} workspace={workspace} webhook={webhook} />
              ))}
            </Rows>
          )
        }
      </Loaded>
      {isAdding && <WebhookDialog workspace={workspace} onClose={() => setAdding(false)} />}
    </Section>
  );
}

interface WebhookRowProps {
  readonly workspace: string;
  readonly webhook: Webhook;
}

function WebhookRow({ workspace, webhook }: WebhookRowProps): ReactNode {
  const say = useText();
  const { url, events, disabled, reason, last_success_at, last_failure_at } = webhook;
  return (
    <Row>
      <Main>
        <Line>
          <strong>{url}</strong>
          <Badge tone={disabled ? "warn" : "good"} icon={disabled ? "stop" : "check"}>
            {say(disabled ? "off" : "on")}
          </Badge>
        </Line>
        {reason !== "" && <Problem>{reason}</Problem>}
        <Note>
          {events.length === 0 ? say("allEvents") : events.join(", ")}
          {last_success_at !== undefined && (
            <>
              {" · "}
              {say("lastSuccess")} <Time at={last_success_at} />
            </>
          )}
          {last_failure_at !== undefined && (
            <>
              {" · "}
              {say("lastFailure")} <Time at={last_failure_at} />
            </>
          )}
        </Note>
      </Main>
      <WebhookActions workspace={workspace} webhook={webhook} />
    </Row>
  );
}

function WebhookActions({ workspace, webhook: { id, url, disabled } }: WebhookRowProps): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const [open, setOpen] = useState<"deliveries" | "remove">();
  const [secret, setSecret] = useState<string>();
  const place = { workspace, webhook: id };
  const again = (): Promise<void> =>
    queries.invalidateQueries({
      predicate: ({ queryKey: [key] }) => key === "webhooks" || key === "deliveries",
    });
  const act = useMutation({
    mutationFn: (work: () => Promise<unknown>) => work(),
    onSuccess: again,
    onError: toastError,
  });
  const test = async (): Promise<void> => {
    await testWebhook(place);
    toast(say("tested"));
    setOpen("deliveries");
  };
  const rotate = async (): Promise<void> => setSecret((await rotateWebhookSecret(place)).secret);
  return (
    <>
      <Button icon="send" busy={act.isPending} onClick={() => act.mutate(test)}>
        {say("test")}
      </Button>
      <Button onClick={() => setOpen("deliveries")}>{say("deliveries")}</Button>
      <Menu
        label={`${say("more")}: ${url}`}
        items={[
          {
            label: say(disabled ? "enable" : "disable"),
            icon: disabled ? "play" : "stop",
            run: () => act.mutate(() => updateWebhook({ ...place, disabled: !disabled })),
          },
          { label: say("rotate"), icon: "lock", run: () => act.mutate(rotate) },
          { label: say("remove"), icon: "trash", danger: true, run: () => setOpen("remove") },
        ]}
      />
      {open === "deliveries" && <DeliveriesDialog {...place} url={url} onClose={() => setOpen(undefined)} />}
      {secret !== undefined && (
        <SecretDialog secret={secret} note={say("rotated")} onClose={() => setSecret(undefined)} />
      )}
      {open === "remove" && (
        <Confirm
          title={say("removeWebhook", { url })}
          text={say("removeWebhookText")}
          action={say("remove")}
          onClose={() => setOpen(undefined)}
          onYes={() => {
            setOpen(undefined);
            act.mutate(() => removeWebhook(place));
          }}
        />
      )}
    </>
  );
}
