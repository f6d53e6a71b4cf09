/** Leads to the comparison of an eval. */

import type { ReactNode } from "react";
import { useSearchParams } from "wouter";

import { Button } from "../../ui/button.tsx";
import { useText } from "./text.ts";

/** Opens the comparison, with the other eval still to be chosen. */
export function CompareButton(): ReactNode {
  const say = useText();
  const [search, setSearch] = useSearchParams();
  if (search.has("vs")) return null;
  return (
    <Button icon="eval" onClick={() => setSearch((before) => [...before, ["vs", ""]])}>
      {say("compare")}
    </Button>
  );
}
