/** How an eval was started, and what it took. */

import type { Eval, EvalSettings } from "@mesh/proto";
import type { ReactNode } from "react";
import { Link } from "wouter";

import { useLocale } from "../../i18n/locale.ts";
import { Facts } from "../../ui/list.tsx";
import { Time } from "../../ui/time.tsx";
import { useDuration } from "./eval-view.tsx";
import { MODES } from "./start-form.ts";
import { useText } from "./text.ts";

type Fact = readonly [name: string, value: ReactNode];

const DEFAULT_TIMEOUT_MS = 120_000;

/** The facts. */
export function EvalFacts({ known }: { readonly known: Eval }): ReactNode {
  const say = useText();
  const duration = useDuration();
  const { placement, started_at: from, finished_at: to } = known;
  const mode = MODES.find((name) => name === placement?.mode) ?? "spread";
  const copies = mode === "mirror" ? ` × ${placement?.copies ?? 2}` : "";
  return (
    <Facts
      facts={[
        [
          say("assistant"),
          <Link key="assistant" href={`/assistants/${known.assistant}`}>
            {known.assistant}
          </Link>,
        ],
        [say("app"), known.app === "" ? say("ownBundle") : known.app],
        [say("placement"), `${say(mode)}${copies}`],
        ...useSettingFacts(known.settings),
        [say("by"), known.created_by],
        [say("created"), <Time key="created" at={known.created_at} exact />],
        [say("finished"), to === undefined ? "" : <Time at={to} exact />],
        [say("took"), from === undefined || to === undefined ? "" : duration(Date.parse(to) - Date.parse(from))],
        ...useSpent(known.usage),
        [say("suite"), known.suite === "" ? "" : <code key="suite">{known.suite.slice(0, 16)}</code>],
      ]}
    />
  );
}

function useSettingFacts(settings: EvalSettings | undefined): readonly Fact[] {
  const say = useText();
  const duration = useDuration();
  if (settings === undefined) return [];
  const { runs, parallel, timeout_ms: timeoutMs, connector, requests_per_minute: perMinute } = settings;
  return [
    [say("runs"), Math.max(1, runs)],
    [say("parallel"), Math.max(1, parallel)],
    [say("timeLimit"), duration(timeoutMs === 0 ? DEFAULT_TIMEOUT_MS : timeoutMs)],
    [say("connector"), connector],
    [say("perMinute"), perMinute === 0 ? "" : perMinute],
  ];
}

function useSpent(usage: Eval["usage"]): readonly Fact[] {
  const say = useText();
  const locale = useLocale((state) => state.locale);
  const tokens: unknown = usage?.["total_tokens"];
  const cost: unknown = usage?.["cost_usd"];
  const money = { style: "currency", currency: "USD", maximumFractionDigits: 4 } as const;
  return [
    [say("tokens"), typeof tokens === "number" ? new Intl.NumberFormat(locale).format(tokens) : ""],
    [say("cost"), typeof cost === "number" ? new Intl.NumberFormat(locale, money).format(cost) : ""],
  ];
}
