/** Links that show a task to people without an account. */

import type { Task } from "@mesh/proto";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { createShare, listShares, revokeShare } from "../../api/agents.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { Loaded } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { toastError } from "../../ui/toast.tsx";
import style from "./task.module.css";
import { useText } from "./text.ts";

const DAY_SECONDS = 86_400;

/** The dialog. */
export default function ShareDialog({
  task,
  onClose,
}: {
  readonly task: Task;
  readonly onClose: () => void;
}): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const workspace = task.workspace_id;
  const [ttl, setTtl] = useState(String(7 * DAY_SECONDS));
  const again = (): Promise<void> => queries.invalidateQueries({ queryKey: ["shares", workspace] });
  const create = useMutation({
    mutationFn: () => createShare({ workspace, task: task.id, access: "view", ttl_seconds: Number(ttl) }),
    onSuccess: again,
    onError: toastError,
  });
  const url = create.data?.url;
  return (
    <Dialog title={say("shareTitle", { task: task.key })} onClose={onClose}>
      <p>{say("shareText")}</p>
      <SelectField
        label={say("expires")}
        value={ttl}
        options={[
          [String(DAY_SECONDS), say("day")],
          [String(7 * DAY_SECONDS), say("week")],
          [String(30 * DAY_SECONDS), say("month")],
          ["0", say("forever")],
        ]}
        onChange={(event) => setTtl(event.target.value)}
      />
      <Button kind="primary" icon="link" busy={create.isPending} onClick={() => create.mutate()}>
        {say("makeLink")}
      </Button>
      {url !== undefined && (
        <>
          <TextField label={say("shareOnce")} readOnly value={url} onFocus={(event) => event.target.select()} />
          <CopyButton text={url} />
        </>
      )}
      <Shares task={task} onRevoked={again} />
    </Dialog>
  );
}

function Shares({ task, onRevoked }: { readonly task: Task; readonly onRevoked: () => Promise<void> }): ReactNode {
  const say = useText();
  const workspace = task.workspace_id;
  const shares = useQuery({ queryKey: ["shares", workspace], queryFn: () => listShares({ workspace }) });
  const revoke = useMutation({
    mutationFn: (share: string) => revokeShare({ workspace, share }),
    onSuccess: onRevoked,
    onError: toastError,
  });
  return (
    <section aria-label={say("shares")}>
      <h3>{say("shares")}</h3>
      <Loaded query={shares} lines={1}>
        {(answer) => {
          const own = answer.shares.filter(({ target }) => target === task.id);
          if (own.length === 0) return <p className={style.note}>{say("noShares")}</p>;
          return (
            <ul className={style.list}>
              {own.map((share) => (
                <li key={share.id} className={style.row}>
                  <Time at={share.created_at} /> {share.created_by}, {say("opened", { count: share.opened })}
                  <Button kind="danger" disabled={revoke.isPending} onClick={() => revoke.mutate(share.id)}>
                    {say("revoke")}
                  </Button>
                </li>
              ))}
            </ul>
          );
        }}
      </Loaded>
    </section>
  );
}
