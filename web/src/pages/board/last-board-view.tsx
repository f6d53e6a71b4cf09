/** The last known board, shown while the server cannot be reached. */

import type { ReactNode } from "react";

import { Page } from "../../ui/page.tsx";
import { Failure } from "../../ui/state.tsx";
import { relative } from "../../ui/time.tsx";
import { useLoad } from "../../ui/use-load.ts";
import { browserClock } from "../../app/clock.ts";
import { useLocale } from "../../i18n/locale.ts";
import { RunStateBadge } from "../work/run-state.tsx";
import style from "./board.module.css";
import { lastBoard } from "./last-board.ts";
import { useText } from "./text.ts";

/** The failure, and under it what is known from before. */
export default function LastBoardView(props: { readonly error: unknown; readonly onRetry: () => void }): ReactNode {
  const say = useText();
  const locale = useLocale((state) => state.locale);
  const kept = useLoad(lastBoard, "last-board").data;
  return (
    <main>
      <Page title={kept?.name ?? say("title")}>
        <Failure error={props.error} onRetry={props.onRetry} />
        {kept !== undefined && (
          <>
            <p role="status">{say("lastKnown", { at: relative(kept.at, browserClock.now(), locale) })}</p>
            <div className={style.board}>
              {kept.columns.map(({ name, cards }) => (
                <section key={name} className={style.column} aria-label={name}>
                  <h2>{name}</h2>
                  <ul className={style.cards}>
                    {cards.map((card) => (
                      <li key={card.id} className={style.card}>
                        <span className={style.key}>{card.key}</span> {card.title}
                        <div className={style.chips}>
                          <RunStateBadge state={card.run_state} />
                        </div>
                      </li>
                    ))}
                  </ul>
                </section>
              ))}
            </div>
          </>
        )}
      </Page>
    </main>
  );
}
