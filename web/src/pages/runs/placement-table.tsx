/** Why a run is on its device, and why not on the others. */

import type { Placement } from "@mesh/proto";
import type { ReactNode } from "react";

import { Note, Row, Rows } from "../../ui/list.tsx";
import { Badge } from "../../ui/state.tsx";
import { useText } from "./text.ts";

/** The newest decision. */
export function PlacementTable({ placement }: { readonly placement: Placement | undefined }): ReactNode {
  const say = useText();
  if (placement === undefined) return <Note>{say("noPlacement")}</Note>;
  return (
    <>
      <p>{placement.summary}</p>
      <Rows label={say("candidates")}>
        {placement.candidates.map(({ node, eligible, reason }) => (
          <Row key={node}>
            <strong>{node}</strong>
            <Badge tone={eligible ? "good" : "plain"} icon={eligible ? "check" : "close"}>
              {say(eligible ? "fits" : "fitsNot")}
            </Badge>
            <span>{reason}</span>
          </Row>
        ))}
      </Rows>
    </>
  );
}
