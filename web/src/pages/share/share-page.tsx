/** What a shared link shows, to whoever has it. */

import type { OpenShareResponse, SharedMessage } from "@mesh/proto";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { useParams } from "wouter";

import { getShareRun, openShare, runShare } from "../../api/agents.ts";
import { newKey } from "../../api/client.ts";
import { ApiError, isRecord } from "../../api/error.ts";
import { browserClock } from "../../app/clock.ts";
import { Markdown } from "../../markdown/markdown.tsx";
import { Button } from "../../ui/button.tsx";
import { TextArea } from "../../ui/field.tsx";
import { useTitle } from "../../ui/page.tsx";
import { Empty, Failure, Skeleton } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { useLoad } from "../../ui/use-load.ts";
import style from "./share.module.css";
import { useText } from "./text.ts";

/** The page. */
export default function SharePage(): ReactNode {
  const say = useText();
  const { code = "" } = useParams();
  const share = useLoad(() => openShare({ code }), code);
  const isGone = share.error !== undefined && [404, 403, 410].includes(ApiError.from(share.error).status);
  useTitle(share.data?.title ?? (isGone ? say("gone") : say("shared")));
  return (
    <main className={style.main}>
      {share.data === undefined && <h1>{isGone ? say("gone") : say("shared")}</h1>}
      {share.data === undefined && share.error === undefined && <Skeleton lines={5} />}
      {isGone && <Empty icon="link" title={say("gone")} text={say("goneText")} />}
      {!isGone && share.error !== undefined && <Failure error={share.error} onRetry={share.reload} />}
      {share.data !== undefined && <Shared code={code} share={share.data} />}
    </main>
  );
}

function Shared({ code, share }: { readonly code: string; readonly share: OpenShareResponse }): ReactNode {
  const say = useText();
  return (
    <>
      <p className={style.note}>{share.kind === "agent" ? say("agent") : say("task")}</p>
      <h1>{share.title}</h1>
      {share.description !== "" && <Markdown text={share.description} />}
      {share.summary !== "" && <p>{share.summary}</p>}
      {share.kind === "agent" && share.access === "run" && <Ask code={code} />}
      {share.kind === "task" && (
        <section aria-label={say("said")}>
          <h2>{say("said")}</h2>
          {share.messages.length === 0 && <p className={style.note}>{say("nothing")}</p>}
          <ol className={style.messages}>
            {share.messages.map((message, index) => (
              <li key={index} className={message.role === "user" ? style.user : undefined}>
                <Message message={message} />
              </li>
            ))}
          </ol>
        </section>
      )}
    </>
  );
}

function Message({ message: { role, at, message } }: { readonly message: SharedMessage }): ReactNode {
  const say = useText();
  const props = isRecord(message?.["props"]) ? message["props"] : {};
  const { content, name, tool } = props as { content?: unknown; name?: unknown; tool?: unknown };
  const toolName = typeof name === "string" ? name : tool;
  return (
    <>
      <p className={style.note}>
        {role === "user" ? say("you") : say("assistant")} <Time at={at} />
      </p>
      {typeof content === "string" && <Markdown text={content} />}
      {typeof toolName === "string" && <p className={style.note}>{say("tool", { name: toolName })}</p>}
    </>
  );
}

const FIRST_MS = 1_000;
const MAX_MS = 5_000;
const ENDED = new Set(["succeeded", "failed", "cancelled", "lost"]);

/** Asks a shared agent; the answer is asked for until it is there, as a link has no stream of its own. */
function Ask({ code }: { readonly code: string }): ReactNode {
  const say = useText();
  const [input, setInput] = useState("");
  const [run, setRun] = useState<string>();
  const [answer, setAnswer] = useState<{ readonly state: string; readonly output: string; readonly reason: string }>();
  const [error, setError] = useState<unknown>();
  const key = useRef(newKey());
  const isBusy = run !== undefined && (answer === undefined || !ENDED.has(answer.state)) && error === undefined;
  useEffect(() => {
    if (run === undefined) return undefined;
    let cancel: (() => void) | undefined;
    let isWanted = true;
    const look = (waitMs: number): void => {
      getShareRun({ code, run }).then(
        (found) => {
          if (!isWanted) return;
          setAnswer({ state: found.state, output: found.output, reason: found.error?.message ?? "" });
          if (!ENDED.has(found.state)) cancel = browserClock.after(waitMs, () => look(Math.min(MAX_MS, waitMs * 1.5)));
        },
        (thrown: unknown) => isWanted && setError(thrown),
      );
    };
    look(FIRST_MS);
    return () => {
      isWanted = false;
      cancel?.();
    };
  }, [code, run]);
  const send = async (): Promise<void> => {
    setError(undefined);
    setAnswer(undefined);
    try {
      const started = await runShare({ code, input }, { idempotencyKey: key.current });
      key.current = newKey();
      setRun(started.run);
    } catch (thrown) {
      setError(thrown);
    }
  };
  return (
    <form
      className={style.form}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <TextArea
        label={say("ask")}
        required
        maxLength={20_000}
        value={input}
        onChange={(event) => setInput(event.target.value)}
      />
      <Button type="submit" kind="primary" busy={isBusy}>
        {say("send")}
      </Button>
      {error !== undefined && <Failure error={error} />}
      <div role="status">
        {isBusy && say("working")}
        {answer !== undefined &&
          ENDED.has(answer.state) &&
          answer.state !== "succeeded" &&
          say("failed", { reason: answer.reason || answer.state })}
      </div>
      {answer !== undefined && answer.output !== "" && (
        <section aria-label={say("answer")}>
          <h2>{say("answer")}</h2>
          <Markdown text={answer.output} />
        </section>
      )}
    </form>
  );
}
