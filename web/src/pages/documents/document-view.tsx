/** How documents look wherever they are shown. */

import type { Document } from "@mesh/proto";
import type { ReactNode } from "react";
import { Link } from "wouter";

import type { IconName } from "../../ui/icon.tsx";
import { Badge, type Tone } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { useText } from "./text.ts";

const LOOKS = {
  queued: ["info", "clock"],
  indexed: ["good", "check"],
  failed: ["danger", "warning"],
} as const satisfies Readonly<Record<string, readonly [Tone, IconName]>>;

/** Whether its text can be searched. */
export function DocumentBadge({ status }: { readonly status: string }): ReactNode {
  const say = useText();
  const known = status === "indexed" || status === "failed" ? status : "queued";
  const [tone, icon] = LOOKS[known];
  return (
    <Badge tone={tone} icon={icon}>
      {say(known)}
    </Badge>
  );
}

/** Where a document came from: who, by which task, on which device, and since when that is off. */
export function Provenance({ document }: { readonly document: Document }): ReactNode {
  const say = useText();
  const { source, created_by, task_id, task_key, node } = document;
  return (
    <>
      {say(source === "upload" ? "fromUpload" : "fromRun", { name: created_by })}
      {task_id !== undefined && (
        <>
          {" · "}
          <Link href={`/task/${task_id}`}>{task_key ?? task_id}</Link>
        </>
      )}
      {node !== undefined && (
        <>
          {" · "}
          <Whereabouts node={node} isOnline={document.online} since={document.offline_since} />
        </>
      )}
      {" · "}
      {say("version", { n: document.version })}
    </>
  );
}

/** The device that something lies on, and since when it is off. */
export function Whereabouts({
  node,
  isOnline,
  since,
}: {
  readonly node: string;
  readonly isOnline: boolean;
  readonly since: string | undefined;
}): ReactNode {
  const say = useText();
  if (isOnline) return say("on", { node });
  if (since === undefined) return say("off", { node });
  return (
    <>
      {say("offSince", { node })} <Time at={since} />
    </>
  );
}
