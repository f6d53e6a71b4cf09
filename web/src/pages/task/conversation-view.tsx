/** The conversation: messages, what is asked, and the field to say more. */

import type { Task } from "@mesh/proto";
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";

import { preferencesOf, useSession } from "../../app/session.ts";
import { Button } from "../../ui/button.tsx";
import { Empty, Failure, Skeleton } from "../../ui/state.tsx";
import { isActive } from "../work/run-state.tsx";
import type { Conversation, Entry } from "./conversation.ts";
import { EntryView } from "./entry-view.tsx";
import { MessageComposer } from "./message-composer.tsx";
import { PendingCard } from "./pending-card.tsx";
import style from "./task.module.css";
import { useText } from "./text.ts";
import { useConversation, useVersion } from "./use-conversation.ts";

const NEAR_PX = 80;

/** The tab of the conversation. */
export function ConversationView({ task }: { readonly task: Task }): ReactNode {
  const say = useText();
  const state = useConversation(task);
  const { conversation, isLoaded, error, hasEarlier, loadEarlier, reload } = state;
  return (
    <div className={style.conversation}>
      {error !== undefined && <Failure error={error} onRetry={reload} />}
      {!isLoaded && error === undefined && <Skeleton lines={5} />}
      {isLoaded && (
        <Messages conversation={conversation} hasEarlier={hasEarlier} onEarlier={loadEarlier}>
          {conversation.entries.length === 0 && <Empty icon="send" title={say("empty")} text={say("emptyText")} />}
        </Messages>
      )}
      <SpokenState conversation={conversation} task={task} />
      <Pending conversation={conversation} task={task} />
      <MessageComposer task={task} />
    </div>
  );
}

function Messages(props: {
  readonly conversation: Conversation;
  readonly hasEarlier: boolean;
  readonly onEarlier: () => void;
  readonly children: ReactNode;
}): ReactNode {
  const say = useText();
  const version = useVersion(props.conversation);
  const { entries } = props.conversation;
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const [isAway, setAway] = useState(false);
  const firstId = entries[0]?.id;
  const heightBefore = useRef(0);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    if (isAtEnd.current) element.scrollTop = element.scrollHeight;
    heightBefore.current = element.scrollHeight;
  }, [version]);
  // Earlier messages push the others down: what a person looks at stays where it is.
  useLayoutEffect(() => {
    const element = box.current;
    if (element !== null && !isAtEnd.current) element.scrollTop += element.scrollHeight - heightBefore.current;
  }, [firstId]);
  const onScroll = (): void => {
    const element = box.current;
    if (element === null) return;
    isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
    setAway(!isAtEnd.current);
  };
  const jump = (): void => {
    isAtEnd.current = true;
    setAway(false);
    box.current?.scrollTo({ top: box.current.scrollHeight });
  };
  return (
    <div className={style.logBox}>
      <div
        ref={box}
        className={style.log}
        role="log"
        // Words that come one by one would be read one by one; the state below says when they are all there.
        aria-live="off"
        aria-label={say("log")}
        tabIndex={0}
        onScroll={onScroll}
      >
        <h2 className={style.spoken}>{say("log")}</h2>
        {props.hasEarlier && (
          <Button kind="quiet" onClick={props.onEarlier}>
            {say("earlier")}
          </Button>
        )}
        {props.children}
        {entries.map((entry) => (
          <EntryView key={entry.id} entry={entry} version={entry.version} />
        ))}
      </div>
      {isAway && (
        <Button className={style.jump} icon="down" onClick={jump}>
          {say("latest")}
        </Button>
      )}
    </div>
  );
}

/** What screen readers hear of a conversation: that a reply comes, and that it is there. */
function SpokenState({ conversation, task }: { readonly conversation: Conversation; readonly task: Task }): ReactNode {
  const say = useText();
  useVersion(conversation);
  const account = useSession((state) => state.account);
  const last = conversation.entries.at(-1);
  const isReplying = conversation.entries.some((entry) => entry.isOpen);
  const [text, setText] = useState("");
  useEffect(() => {
    if (isReplying) {
      setText(say("replying"));
      return;
    }
    // Nothing is said of what was there already.
    setText((before) => (before === "" ? "" : finished(last, preferencesOf(account).readReplies, say)));
  }, [isReplying, last, account, say]);
  const question = task.pending[0]?.text;
  return (
    <p role="status" className={style.spoken}>
      {question === undefined ? text : say("needsYou", { text: question })}
    </p>
  );
}

function finished(last: Entry | undefined, aloud: boolean, say: ReturnType<typeof useText>): string {
  const words = last?.text.split(/\s+/).filter(Boolean).length ?? 0;
  return aloud && last !== undefined ? last.text : say("finished", { count: words });
}

function Pending({ conversation, task }: { readonly conversation: Conversation; readonly task: Task }): ReactNode {
  useVersion(conversation);
  // The events are ahead of the task, which comes over the feed.
  const items = conversation.pending ?? task.pending;
  if (!isActive(task.run_state) && items.length > 0) return null;
  return items.map((item) => <PendingCard key={item.id} task={task} item={item} />);
}
