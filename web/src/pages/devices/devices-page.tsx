/** All devices: what they are, what they do, and why one takes no work. */

import type { Node } from "@mesh/proto";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";

import { Button } from "../../ui/button.tsx";
import { Line, Main, Note, Row, Rows } from "../../ui/list.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import { AddDeviceDialog } from "./add-device-dialog.tsx";
import { useNodes } from "./device-data.ts";
import { DeviceBadges, LabelBadges, LastSeen, LoadText } from "./device-view.tsx";
import { useText } from "./text.ts";

/** The page. */
export default function DevicesPage(): ReactNode {
  const say = useText();
  const nodes = useNodes();
  const [isAdding, setAdding] = useState(false);
  const add = (
    <Button kind="primary" icon="plus" onClick={() => setAdding(true)}>
      {say("add")}
    </Button>
  );
  const isEmpty = nodes.data?.nodes.length === 0;
  return (
    <Page title={say("title")} actions={!isEmpty && add}>
      <Loaded query={nodes}>
        {(answer) =>
          isEmpty ? (
            <Empty icon="devices" title={say("none")} text={say("noneText")}>
              {add}
            </Empty>
          ) : (
            <Rows label={say("title")}>
              {answer.nodes.map((node) => (
                <DeviceRow key={node.id} node={node} />
              ))}
            </Rows>
          )
        }
      </Loaded>
      {isAdding && <AddDeviceDialog known={nodes.data?.nodes ?? []} onClose={() => setAdding(false)} />}
    </Page>
  );
}

function DeviceRow({ node }: { readonly node: Node }): ReactNode {
  const say = useText();
  return (
    <Row>
      <Main>
        <Line>
          <Link href={`/devices/${node.id}`}>
            <strong>{node.name}</strong>
          </Link>
          <DeviceBadges node={node} />
          <LabelBadges labels={node.labels} />
        </Line>
        {node.reason !== "" && <Note>{say("takesNone", { reason: node.reason })}</Note>}
        <Note>
          {[node.facts?.os, node.facts?.arch].filter(Boolean).join(" ")}
          {node.load !== undefined && node.status === "online" && (
            <>
              {" · "}
              <LoadText load={node.load} />
            </>
          )}
        </Note>
      </Main>
      <div>
        <meter
          min={0}
          max={Math.max(1, node.slots)}
          value={node.slots_used}
          aria-label={say("slotsUsed", { used: node.slots_used, total: node.slots })}
        />
        <Note>{say("slotsUsed", { used: node.slots_used, total: node.slots })}</Note>
        <Note>
          {say("lastSeen")}: <LastSeen node={node} />
        </Note>
      </div>
    </Row>
  );
}
