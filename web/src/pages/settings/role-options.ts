/** Roles in a workspace, for choosing one. */

import { useText } from "./text.ts";

/** Pairs of the role and what it may do. */
export function useRoleOptions(): readonly (readonly [string, string])[] {
  const say = useText();
  return [
    ["owner", `${say("owner")}: ${say("ownerText")}`],
    ["member", `${say("member")}: ${say("memberText")}`],
    ["viewer", `${say("viewer")}: ${say("viewerText")}`],
  ];
}
