/** Lets a device join: makes the command, and waits until the device is there. */

import type { CreateJoinTokenResponse, Node } from "@mesh/proto";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { createJoinToken } from "../../api/nodes.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Actions, Dialog } from "../../ui/dialog.tsx";
import { SelectField, TextArea, TextField } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Code, Fields, Form, Note } from "../../ui/list.tsx";
import { Time } from "../../ui/time.tsx";
import { toastError } from "../../ui/toast.tsx";
import { useNodes } from "./device-data.ts";
import { readLabels } from "./label-list.ts";
import { useText } from "./text.ts";
import { later } from "../../ui/later.tsx";

const QrCode = later(() => import("../../ui/qr.tsx"), { lines: 2 });
const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

/** The dialog; `known` are the devices that were there before. */
export function AddDeviceDialog({
  known,
  onClose,
}: {
  readonly known: readonly Node[];
  readonly onClose: () => void;
}): ReactNode {
  const say = useText();
  const [before] = useState(() => new Set(known.map(({ id }) => id)));
  const [made, setMade] = useState<CreateJoinTokenResponse>();
  return (
    <Dialog title={say("addTitle")} onClose={onClose} wide={made !== undefined}>
      {made === undefined ? <Ask onMade={setMade} /> : <Wait made={made} before={before} onClose={onClose} />}
    </Dialog>
  );
}

function Ask({ onMade }: { readonly onMade: (made: CreateJoinTokenResponse) => void }): ReactNode {
  const say = useText();
  const [ttl, setTtl] = useState(String(15 * MINUTE));
  const [uses, setUses] = useState("1");
  const [text, setText] = useState("");
  const { labels, bad } = readLabels(text);
  const make = useMutation({
    mutationFn: () => createJoinToken({ ttl_seconds: Number(ttl), uses: Number(uses), labels: { ...labels } }),
    onSuccess: onMade,
    onError: toastError,
  });
  return (
    <Form onSubmit={() => bad === undefined && make.mutate()}>
      <Note>{say("addText")}</Note>
      <Fields>
        <SelectField
          label={say("ttl")}
          value={ttl}
          options={[
            [String(15 * MINUTE), say("minutes", { count: 15 })],
            [String(HOUR), say("hours", { count: 1 })],
            [String(DAY), say("days", { count: 1 })],
            [String(7 * DAY), say("days", { count: 7 })],
          ]}
          onChange={(event) => setTtl(event.target.value)}
        />
        <TextField
          label={say("uses")}
          type="number"
          min={1}
          max={1000}
          required
          value={uses}
          onChange={(event) => setUses(event.target.value)}
        />
      </Fields>
      <TextArea
        label={say("labels")}
        hint={say("labelsHint")}
        error={bad === undefined ? undefined : say("badLabel", { label: bad })}
        rows={2}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Actions>
        <Button type="submit" kind="primary" busy={make.isPending}>
          {say("makeCommand")}
        </Button>
      </Actions>
    </Form>
  );
}

interface WaitProps {
  readonly made: CreateJoinTokenResponse;
  readonly before: ReadonlySet<string>;
  readonly onClose: () => void;
}

function Wait({ made, before, onClose }: WaitProps): ReactNode {
  const say = useText();
  const nodes = useNodes();
  const joined = nodes.data?.nodes.filter(({ id }) => !before.has(id)) ?? [];
  return (
    <>
      <p>{say("runThere")}</p>
      <Code label={say("command")}>{made.command}</Code>
      <CopyButton text={made.command} />
      <Note>
        {say("expires")} <Time at={made.expires_at} exact />
      </Note>
      <QrCode text={made.command} label={say("qr")} />
      <div role="status">
        {joined.length === 0 ? (
          <p>
            <Icon name="clock" /> {say("waiting")}
          </p>
        ) : (
          joined.map(({ id, name }) => (
            <p key={id}>
              <Icon name="check" /> {say("hasJoined", { name })}
            </p>
          ))
        )}
      </div>
      {joined.length === 0 && <Trouble />}
      <Actions>
        {joined.map(({ id, name }) => (
          <LinkButton key={id} href={`/devices/${id}`}>
            {say("open", { name })}
          </LinkButton>
        ))}
        <Button kind={joined.length === 0 ? "plain" : "primary"} onClick={onClose}>
          {say("done")}
        </Button>
      </Actions>
    </>
  );
}

function Trouble(): ReactNode {
  const say = useText();
  return (
    <details>
      <summary>{say("trouble")}</summary>
      <ul>
        <li>{say("troubleInstall")}</li>
        <li>{say("troubleReach", { url: location.origin })}</li>
        <li>{say("troubleExpired")}</li>
        <li>{say("troubleDoctor")}</li>
      </ul>
    </details>
  );
}
