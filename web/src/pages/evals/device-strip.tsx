/** The devices of an eval: what each does and how its results ended. */

import type { EvalNode } from "@mesh/proto";
import type { ReactNode } from "react";

import { classes } from "../../ui/class.ts";
import type { IconName } from "../../ui/icon.tsx";
import { Facts, Note, Problem } from "../../ui/list.tsx";
import { Badge, type Tone } from "../../ui/state.tsx";
import { PassRate, ProgressBar, Sign } from "./eval-view.tsx";
import style from "./evals.module.css";
import { type Counts, countsIn, NO_COUNTS, settled, STATUSES } from "./status.ts";
import { useText } from "./text.ts";

const STATES = {
  active: ["good", "check"],
  offline: ["plain", "moon"],
  draining: ["warn", "stop"],
  quarantined: ["danger", "warning"],
  unfit: ["plain", "close"],
} as const satisfies Readonly<Record<string, readonly [Tone, IconName]>>;

/** The state of a device in an eval. */
export function NodeStateBadge({ state }: { readonly state: string }): ReactNode {
  const say = useText();
  const known = (Object.keys(STATES) as (keyof typeof STATES)[]).find((name) => name === state);
  // Of an eval that has ended nobody judges the devices any more.
  if (known === undefined) return null;
  const [tone, icon] = STATES[known];
  return (
    <Badge tone={tone} icon={icon}>
      {say(`node_${known}`)}
    </Badge>
  );
}

/** What the strip is given. */
export interface DeviceStripProps {
  readonly nodes: readonly EvalNode[];
  /** Counts by device where they are newer than those of the devices. */
  readonly countsOf: ReadonlyMap<string, Counts> | undefined;
  /** Id of the device that the grid is narrowed to; empty for all. */
  readonly chosen: string;
  readonly onChoose: (id: string) => void;
}

/** The strip; choosing a device narrows the grid to it. Devices that take no part are below, with the reason. */
export function DeviceStrip({ nodes, countsOf, chosen, onChoose }: DeviceStripProps): ReactNode {
  const say = useText();
  const shown = nodes.map((node) => ({
    node,
    counts: countsOf === undefined ? countsIn(node) : (countsOf.get(node.node_id) ?? NO_COUNTS),
  }));
  const isIn = ({ node, counts }: (typeof shown)[number]): boolean => node.state !== "unfit" || settled(counts) > 0;
  const others = shown.filter((one) => !isIn(one));
  return (
    <>
      <ul className={style.devices} aria-label={say("devices")}>
        {shown.filter(isIn).map(({ node, counts }) => (
          <li key={node.node_id} className={classes(style.device, chosen === node.node_id && style.chosen)}>
            <button
              type="button"
              className={style.deviceName}
              aria-pressed={chosen === node.node_id}
              title={say("narrow", { name: node.name })}
              onClick={() => onChoose(chosen === node.node_id ? "" : node.node_id)}
            >
              {node.name}
            </button>
            <NodeStateBadge state={node.state} />
            <Device node={node} counts={counts} />
          </li>
        ))}
      </ul>
      {others.length > 0 && (
        <details>
          <summary>{say("outside", { count: others.length })}</summary>
          <Facts facts={others.map(({ node }) => [node.name, node.reason === "" ? say("node_unfit") : node.reason])} />
        </details>
      )}
    </>
  );
}

function Device({ node, counts }: { readonly node: EvalNode; readonly counts: Counts }): ReactNode {
  const say = useText();
  const done = settled(counts);
  return (
    <>
      {node.reason !== "" &&
        (node.state === "quarantined" ? <Problem>{node.reason}</Problem> : <Note>{node.reason}</Note>)}
      {node.state === "active" && <Note>{say("slots", { running: node.running, slots: node.slots })}</Note>}
      {done > 0 && (
        <>
          <PassRate counts={counts} />
          <ProgressBar counts={counts} total={done} />
          <p className={style.tally}>
            {STATUSES.filter((status) => counts[status] > 0).map((status) => (
              <span key={status}>
                <Sign status={status} /> {say("countOf", { count: counts[status], what: say(status) })}
              </span>
            ))}
          </p>
        </>
      )}
      {node.infra_errors > 0 && <Note>{say("infra", { count: node.infra_errors })}</Note>}
    </>
  );
}
