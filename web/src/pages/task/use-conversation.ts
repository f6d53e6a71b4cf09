/** A task's conversation: whole messages, then the run that goes on. */

import type { Task } from "@mesh/proto";
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";

import { listTaskMessages } from "../../api/tasks.ts";
import { runSocket } from "../../feed/runs.ts";
import { isActive } from "../work/run-state.tsx";
import { Conversation } from "./conversation.ts";

/** What the view is given. */
export interface ConversationState {
  readonly conversation: Conversation;
  readonly isLoaded: boolean;
  readonly error: unknown;
  readonly hasEarlier: boolean;
  readonly loadEarlier: () => void;
  readonly reload: () => void;
}

const PAGE = 50;

interface LoadState {
  readonly isLoaded: boolean;
  readonly error: unknown;
  readonly hasEarlier: boolean;
}

type SetState = (change: (before: LoadState) => LoadState) => void;

/** Loads the newest page and follows the run; earlier pages when asked for. */
export function useConversation(task: Task): ConversationState {
  const [conversation] = useState(() => new Conversation());
  const [state, setState] = useState<LoadState>({ isLoaded: false, error: undefined, hasEarlier: false });
  const [round, setRound] = useState(0);
  const oldest = useRef(0);
  const follow = useFollower(conversation, setState);
  const { id, run_id, run_state } = task;

  useEffect(() => {
    let isWanted = true;
    listTaskMessages({ task: id, limit: PAGE })
      .then(({ messages, has_more, run_id: run, run_seq }) => {
        if (!isWanted) return;
        if (oldest.current === 0) {
          oldest.current = messages[0]?.seq ?? 0;
          conversation.addPage(messages);
          setState({ isLoaded: true, error: undefined, hasEarlier: has_more });
        } else {
          conversation.addNewer(messages);
          setState((before) => ({ ...before, isLoaded: true, error: undefined }));
        }
        if (run !== undefined && run !== "") follow(run, run_seq);
      })
      .catch((error: unknown) => isWanted && setState((before) => ({ ...before, error })));
    return () => {
      isWanted = false;
    };
    // A run that starts brings the message that started it; one that ends, what it left.
  }, [conversation, follow, id, run_id, isActive(run_state), round]);

  const isBusy = useRef(false);
  const loadEarlier = useCallback(() => {
    if (isBusy.current || oldest.current <= 1) return;
    isBusy.current = true;
    listTaskMessages({ task: id, limit: PAGE, before_seq: oldest.current })
      .then(({ messages, has_more }) => {
        oldest.current = messages[0]?.seq ?? oldest.current;
        conversation.addPage(messages);
        setState((before) => ({ ...before, hasEarlier: has_more }));
      })
      .catch((error: unknown) => setState((before) => ({ ...before, error })))
      .finally(() => {
        isBusy.current = false;
      });
  }, [conversation, id]);

  return { ...state, conversation, loadEarlier, reload: useCallback(() => setRound((before) => before + 1), []) };
}

/** Follows one run at a time, as long as the component is shown. */
function useFollower(conversation: Conversation, setState: SetState): (run: string, cursor: number) => void {
  const stop = useRef<(() => void) | undefined>(undefined);
  const followed = useRef("");
  useEffect(
    () => () => {
      stop.current?.();
      followed.current = "";
    },
    [],
  );
  return useCallback(
    (run, cursor) => {
      if (followed.current === run) return;
      stop.current?.();
      followed.current = run;
      conversation.follow(run, cursor);
      stop.current = runSocket.follow(run, conversation.cursor, {
        onEvent: (event) => {
          conversation.apply(event);
          tellSoon(conversation);
        },
        onEnd: () => {
          followed.current = "";
          conversation.flush();
        },
        onError: (message) => setState((before) => ({ ...before, error: new Error(message) })),
      });
    },
    [conversation, setState],
  );
}

const waiting = new WeakSet<Conversation>();

/** One drawing per frame, however many pieces come. */
function tellSoon(conversation: Conversation): void {
  if (waiting.has(conversation)) return;
  waiting.add(conversation);
  const tell = (): void => {
    waiting.delete(conversation);
    conversation.flush();
  };
  // A page that nobody looks at has no frames.
  if (document.visibilityState === "visible") requestAnimationFrame(tell);
  else queueMicrotask(tell);
}

/** Draws again when the conversation changes. */
export function useVersion(conversation: Conversation): number {
  return useSyncExternalStore(conversation.subscribe, conversation.snapshot);
}
