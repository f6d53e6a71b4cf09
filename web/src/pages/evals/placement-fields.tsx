/** On which devices a new eval runs, and what the coordinator would do with that. */

import type { EvalNode, PlanEvalResponse } from "@mesh/proto";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";

import { planEval } from "../../api/evals.ts";
import { browserClock } from "../../app/clock.ts";
import { CheckField, SelectField, TextField } from "../../ui/field.tsx";
import { Fields, Note, Problem } from "../../ui/list.tsx";
import { Failure, Skeleton } from "../../ui/state.tsx";
import { NodeStateBadge } from "./device-strip.tsx";
import style from "./evals.module.css";
import { MODES, placementOf, runsOf, type StartForm } from "./start-form.ts";
import { useText } from "./start-text.ts";

const TYPING_MS = 300;

/** What the part is given. */
export interface PlacementFieldsProps {
  readonly workspace: string;
  readonly form: StartForm;
  /** How many cases there are. */
  readonly cases: number;
  readonly onChange: (change: Partial<StartForm>) => void;
}

/** The part. */
export function PlacementFields({ workspace, form, cases, onChange }: PlacementFieldsProps): ReactNode {
  const say = useText();
  const plan = usePlan({ workspace, form, cases });
  return (
    <fieldset className={style.placement}>
      <legend>{say("placement")}</legend>
      <Fields>
        <SelectField
          label={say("mode")}
          hint={say(`${form.mode}Hint`)}
          value={form.mode}
          options={MODES.map((mode) => [mode, say(mode)] as const)}
          onChange={({ target }) => onChange({ mode: MODES.find((mode) => mode === target.value) ?? "spread" })}
        />
        {form.mode === "mirror" && (
          <TextField
            label={say("copies")}
            type="number"
            min={2}
            max={16}
            required
            value={form.copies}
            onChange={({ target }) => onChange({ copies: target.value })}
          />
        )}
        <TextField
          label={say("maxNodes")}
          hint={say("maxNodesHint")}
          type="number"
          min={1}
          max={1_000}
          value={form.maxNodes}
          onChange={({ target }) => onChange({ maxNodes: target.value })}
        />
      </Fields>
      {plan.data === undefined && plan.error !== null && (
        <Failure error={plan.error} onRetry={() => void plan.refetch()} />
      )}
      {plan.data === undefined && plan.error === null && <Skeleton lines={2} />}
      {plan.data !== undefined && (
        <Plan plan={plan.data} cases={cases} chosen={form.nodes} onChoose={(nodes) => onChange({ nodes })} />
      )}
    </fieldset>
  );
}

/** What the coordinator would do, asked a moment after the last change. */
function usePlan({ workspace, form, cases }: Pick<PlacementFieldsProps, "workspace" | "form" | "cases">) {
  const now = JSON.stringify({ placement: placementOf(form), cases, runs: runsOf(form) });
  const [asked, setAsked] = useState(now);
  useEffect(() => {
    if (asked === now) return undefined;
    return browserClock.after(TYPING_MS, () => setAsked(now));
  }, [asked, now]);
  return useQuery({
    queryKey: ["eval-plan", workspace, asked],
    queryFn: () => planEval({ workspace, placement: placementOf(form), cases, runs: runsOf(form) }),
    placeholderData: keepPreviousData,
    // Devices come and go.
    staleTime: 0,
    gcTime: 0,
  });
}

interface PlanProps {
  readonly plan: PlanEvalResponse;
  readonly cases: number;
  readonly chosen: readonly string[];
  readonly onChoose: (nodes: readonly string[]) => void;
}

function Plan({ plan: { nodes, units }, cases, chosen, onChoose }: PlanProps): ReactNode {
  const say = useText();
  const active = nodes.filter(({ state }) => state === "active");
  const slots = active.reduce((sum, node) => sum + node.slots, 0);
  return (
    <>
      <p role="status">
        {active.length === 0 ? (
          <Problem>{say("noDevice")}</Problem>
        ) : (
          say(cases === 0 ? "planDevices" : "plan", { units, devices: active.length, slots })
        )}
      </p>
      <ul className={style.planNodes} aria-label={say("devices")}>
        {nodes.map((node) => (
          <li key={node.node_id}>
            <CheckField
              label={node.name}
              checked={chosen.includes(node.node_id)}
              onChange={({ target }) =>
                onChoose(target.checked ? [...chosen, node.node_id] : chosen.filter((id) => id !== node.node_id))
              }
            />
            <NodeStateBadge state={node.state} />
            <Note>{node.reason === "" ? placeOf(node, say("slotCount", { count: node.slots })) : node.reason}</Note>
          </li>
        ))}
      </ul>
      <Note>{say(chosen.length === 0 ? "allDevices" : "chosenDevices")}</Note>
    </>
  );
}

function placeOf({ os, arch }: EvalNode, slots: string): string {
  return [[os, arch].filter((part) => part !== "").join("/"), slots].filter((part) => part !== "").join(", ");
}
