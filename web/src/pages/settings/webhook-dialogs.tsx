/** Makes a webhook, shows its secret once, and what was sent to it. */

import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { createWebhook, listDeliveries, replayDelivery } from "../../api/webhooks.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Actions, Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { Code, Form, Line, Main, Note, Problem, Row, Rows } from "../../ui/list.tsx";
import { Badge, Loaded, type Tone } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { useText } from "./access-text.ts";
import { Choices } from "./choices.tsx";

const EVENTS = [
  "task.created",
  "task.needs_input",
  "task.succeeded",
  "task.failed",
  "run.succeeded",
  "run.failed",
  "run.waiting",
] as const;

interface WebhookDialogProps {
  readonly workspace: string;
  readonly onClose: () => void;
}

/** Asks for address and events, then shows the secret. */
export function WebhookDialog({ workspace, onClose }: WebhookDialogProps): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const [url, setUrl] = useState("");
  const [events, setEvents] = useState<readonly string[]>([]);
  const make = useMutation({
    mutationFn: () => createWebhook({ workspace, url, events: [...events] }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["webhooks", workspace] }),
    onError: toastError,
  });
  if (make.data !== undefined) return <SecretDialog secret={make.data.secret} onClose={onClose} />;
  return (
    <Dialog title={say("addWebhook")} onClose={onClose}>
      <Form onSubmit={() => make.mutate()}>
        <TextField
          label={say("url")}
          hint={say("urlHint")}
          type="url"
          required
          maxLength={2_048}
          value={url}
          onChange={(event) => setUrl(event.target.value)}
        />
        <Choices
          legend={say("events")}
          hint={say("eventsHint")}
          options={EVENTS.map((event) => [event, event] as const)}
          chosen={events}
          onChange={setEvents}
        />
        <Actions>
          <Button type="submit" kind="primary" busy={make.isPending}>
            {say("create")}
          </Button>
        </Actions>
      </Form>
    </Dialog>
  );
}

interface SecretDialogProps {
  readonly secret: string;
  readonly note?: string;
  readonly onClose: () => void;
}

/** The signing secret, once. */
export function SecretDialog({ secret, note, onClose }: SecretDialogProps): ReactNode {
  const say = useText();
  return (
    <Dialog title={say("webhookSecretOnce")} onClose={onClose}>
      <Code label={say("webhookSecretOnce")}>{secret}</Code>
      {note !== undefined && <Note>{note}</Note>}
      <Actions>
        <CopyButton text={secret} />
        <Button kind="primary" onClick={onClose}>
          {say("done")}
        </Button>
      </Actions>
    </Dialog>
  );
}

const TONES: Readonly<Record<"pending" | "delivered" | "failed", Tone>> = {
  pending: "info",
  delivered: "good",
  failed: "danger",
};

interface DeliveriesDialogProps extends WebhookDialogProps {
  readonly webhook: string;
  readonly url: string;
}

/** What was sent, the newest first, to be sent again. */
export function DeliveriesDialog({ workspace, webhook, url, onClose }: DeliveriesDialogProps): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const deliveries = useInfiniteQuery({
    queryKey: ["deliveries", webhook],
    queryFn: ({ pageParam }) => listDeliveries({ workspace, webhook, limit: 50, cursor: pageParam }),
    initialPageParam: "",
    getNextPageParam: ({ next_cursor }) => (next_cursor === "" ? undefined : next_cursor),
    staleTime: 0,
  });
  const replay = useMutation({
    mutationFn: (delivery: string) => replayDelivery({ workspace, webhook, delivery }),
    onSuccess: () => {
      toast(say("replayed"));
      return queries.invalidateQueries({ queryKey: ["deliveries", webhook] });
    },
    onError: toastError,
  });
  return (
    <Dialog wide title={say("deliveriesOf", { url })} onClose={onClose}>
      <Loaded query={deliveries}>
        {({ pages }) => {
          const all = pages.flatMap((page) => page.deliveries);
          if (all.length === 0) return <Note>{say("noDeliveries")}</Note>;
          return (
            <Rows label={say("deliveries")}>
              {all.map(({ id, event, state, attempts, response_status, error, created_at, next_at }) => {
                const known = state === "delivered" || state === "failed" ? state : "pending";
                return (
                  <Row key={id}>
                    <Main>
                      <Line>
                        <strong>{event}</strong>
                        <Badge tone={TONES[known]}>{say(known)}</Badge>
                      </Line>
                      {error !== "" && <Problem>{error}</Problem>}
                      <Note>
                        <Time at={created_at} /> · {say("attempts", { count: attempts })}
                        {response_status > 0 && ` · ${say("answered", { status: String(response_status) })}`}
                        {next_at !== undefined && (
                          <>
                            {" · "}
                            {say("nextAt")} <Time at={next_at} />
                          </>
                        )}
                      </Note>
                    </Main>
                    <Button icon="retry" disabled={replay.isPending} onClick={() => replay.mutate(id)}>
                      {say("replay")}
                    </Button>
                  </Row>
                );
              })}
            </Rows>
          );
        }}
      </Loaded>
      {deliveries.hasNextPage && (
        <Button busy={deliveries.isFetchingNextPage} onClick={() => void deliveries.fetchNextPage()}>
          {say("more")}
        </Button>
      )}
    </Dialog>
  );
}
