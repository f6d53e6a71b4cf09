/** How a device looks wherever it is shown. */

import type { Node, NodeLoad } from "@mesh/proto";
import type { ReactNode } from "react";

import { useLocale } from "../../i18n/locale.ts";
import type { IconName } from "../../ui/icon.tsx";
import { Badge, type Tone } from "../../ui/state.tsx";
import { bytesText, Time } from "../../ui/time.tsx";
import { useText } from "./text.ts";

const LOOKS = {
  online: ["good", "check"],
  suspect: ["warn", "question"],
  offline: ["plain", "moon"],
} as const satisfies Readonly<Record<string, readonly [Tone, IconName]>>;

function statusOf(node: Node): keyof typeof LOOKS {
  return node.status === "online" || node.status === "suspect" ? node.status : "offline";
}

/** Whether it is there, and whether it takes work. */
export function DeviceBadges({ node }: { readonly node: Node }): ReactNode {
  const say = useText();
  const status = statusOf(node);
  const [tone, icon] = LOOKS[status];
  return (
    <>
      <Badge tone={tone} icon={icon}>
        {say(status)}
      </Badge>
      {node.draining && (
        <Badge tone="warn" icon="stop">
          {say("draining")}
        </Badge>
      )}
    </>
  );
}

/** Its labels. */
export function LabelBadges({ labels }: { readonly labels: Node["labels"] }): ReactNode {
  return Object.entries(labels).map(([name, value]) => (
    <Badge key={name}>
      {name}={value}
    </Badge>
  ));
}

/** The newest measurement in one line. */
export function LoadText({ load }: { readonly load: NodeLoad }): ReactNode {
  const say = useText();
  const locale = useLocale((state) => state.locale);
  const memory = bytesText(load.memory_free_bytes, locale);
  const cpu = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 }).format(load.cpu);
  return say("loadText", { load: cpu, memory });
}

/** When it was last heard from. */
export function LastSeen({ node }: { readonly node: Node }): ReactNode {
  const say = useText();
  return node.last_seen_at === undefined ? say("never") : <Time at={node.last_seen_at} />;
}
