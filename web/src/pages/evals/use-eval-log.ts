/** Follows an eval: its results as they come, and the eval itself. */

import type { Eval, EvalResult, GetEvalResponse } from "@mesh/proto";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";

import type { ApiError } from "../../api/error.ts";
import { browserClock } from "../../app/clock.ts";
import { useSession } from "../../app/session.ts";
import { EvalStream } from "../../feed/eval-stream.ts";
import { addResults, EMPTY_LOG, type EvalLog } from "./eval-log.ts";
import { isLive } from "./status.ts";

/** How often what came is drawn. */
const DRAW_MS = 100;
const LASTING_MS = 3_000;

/** The results of an eval. */
export interface FollowedEval {
  readonly log: EvalLog;
  /** It should be followed, and for a while nothing was heard. */
  readonly isCutOff: boolean;
  readonly error: ApiError | undefined;
}

/**
 * The results of an eval, kept up to date as long as the page is in sight: a hidden page holds no connection, and goes on
 * where it was. An eval that is gone on with is read anew, since results that counted may count no more.
 */
export function useEvalLog(known: Eval): FollowedEval {
  const { id, state } = known;
  const queries = useQueryClient();
  const held = useRef<EvalLog>(EMPTY_LOG);
  const [log, setLog] = useState<EvalLog>(EMPTY_LOG);
  const [isOnline, setOnline] = useState(false);
  const [error, setError] = useState<ApiError>();
  const isVisible = useSyncExternalStore(onVisibility, () => document.visibilityState === "visible");
  const round = useRounds(state);
  const lastRound = useRef(round);
  useEffect(() => {
    if (!isVisible || state === "draft") return undefined;
    if (lastRound.current !== round) held.current = EMPTY_LOG;
    lastRound.current = round;
    const batch = new Batch((results, latest) => {
      held.current = addResults(held.current, results);
      setLog(held.current);
      if (latest !== undefined) queries.setQueryData<GetEvalResponse>(["eval", id], { eval: latest });
    });
    const stream = new EvalStream(
      {
        clock: browserClock,
        fetch: (path, init) => fetch(path, init),
        onEvent: (event) => (event.kind === "result" ? batch.result(event.result) : batch.eval(event.eval)),
        onOnline: setOnline,
        onAlive: () => setError(undefined),
        onUnauthenticated: () => useSession.getState().leave(),
        onEnd: () => undefined,
        onRefused: setError,
      },
      id,
      held.current.lastSeq,
    );
    const wake = (): void => stream.wake();
    window.addEventListener("online", wake);
    void stream.run();
    return () => {
      window.removeEventListener("online", wake);
      stream.stop();
      batch.close();
    };
  }, [id, round, isVisible, state === "draft", queries]);
  const isCutOff = useLasting(isLive(state) && isVisible && !isOnline && error === undefined);
  return { log, isCutOff, error };
}

/** True once something has been so for three seconds: what is over at once need not be told. */
function useLasting(isSo: boolean): boolean {
  const [lasts, setLasts] = useState(false);
  useEffect(() => {
    setLasts(false);
    return isSo ? browserClock.after(LASTING_MS, () => setLasts(true)) : undefined;
  }, [isSo]);
  return isSo && lasts;
}

/** How often the eval was gone on with since the page was opened. */
function useRounds(state: string): number {
  const last = useRef(state);
  const [round, setRound] = useState(0);
  useEffect(() => {
    const wasOver = !isLive(last.current) && last.current !== "draft";
    if (isLive(state) && wasOver) setRound((before) => before + 1);
    last.current = state;
  }, [state]);
  return round;
}

/** Puts what comes close together into one drawing. */
class Batch {
  readonly #draw: (results: readonly EvalResult[], latest: Eval | undefined) => void;
  #results: EvalResult[] = [];
  #latest: Eval | undefined;
  #cancel: (() => void) | undefined;

  constructor(draw: (results: readonly EvalResult[], latest: Eval | undefined) => void) {
    this.#draw = draw;
  }

  result(result: EvalResult): void {
    this.#results.push(result);
    this.#later();
  }

  eval(latest: Eval): void {
    this.#latest = latest;
    this.#later();
  }

  /** Draws what is left. */
  close(): void {
    if (this.#cancel !== undefined) this.#flush();
  }

  #later(): void {
    this.#cancel ??= browserClock.after(DRAW_MS, () => this.#flush());
  }

  #flush(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const [results, latest] = [this.#results, this.#latest];
    this.#results = [];
    this.#latest = undefined;
    this.#draw(results, latest);
  }
}

function onVisibility(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}
