/** One entry of a conversation. */

import { memo, type ReactNode, useState } from "react";

import { isRecord } from "../../api/error.ts";
import { GrowingMarkdown, Markdown } from "../../markdown/markdown.tsx";
import { classes } from "../../ui/class.ts";
import { Icon } from "../../ui/icon.tsx";
import { Badge } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import type { Entry } from "./conversation.ts";
import style from "./task.module.css";
import { useText } from "./text.ts";

/** An entry; `version` is the entry's, so that it is drawn again only when it changed. */
export const EntryView = memo(function EntryView({
  entry,
}: {
  readonly entry: Entry;
  readonly version: number;
}): ReactNode {
  const say = useText();
  const isUser = entry.role === "user";
  return (
    <div className={classes(style.entry, isUser && style.user, entry.threadId !== undefined && style.thread)}>
      {isUser && (
        <div className={style.who}>
          <strong>{entry.author === "" ? say("you") : entry.author}</strong> <Time at={entry.at} />
        </div>
      )}
      {entry.threadId !== undefined && <Badge>{say("sub")}</Badge>}
      <Content entry={entry} />
    </div>
  );
});

function Content({ entry }: { readonly entry: Entry }): ReactNode {
  const say = useText();
  switch (entry.type) {
    case "text":
      return <Attached entry={entry} />;
    case "thinking":
      return (
        <Fold icon="agent" title={entry.isOpen ? say("thinkingNow") : say("thinking")}>
          <Text entry={entry} />
        </Fold>
      );
    case "tool_call":
      return <ToolCall entry={entry} />;
    case "execute":
      return <Execution entry={entry} />;
    case "error":
      return (
        <p className={style.error}>
          <Icon name="warning" /> {entry.text}
        </p>
      );
    case "image":
      return <p>{say("image", { name: nameOf(entry.props["alt"]) || nameOf(entry.props["url"]) })}</p>;
    default:
      return <Raw title={entry.type} value={entry.props} />;
  }
}

function Text({ entry }: { readonly entry: Entry }): ReactNode {
  return entry.isOpen ? <GrowingMarkdown text={entry.text} /> : <Markdown text={entry.text} />;
}

function Attached({ entry }: { readonly entry: Entry }): ReactNode {
  const files: unknown = entry.props["attachments"] ?? entry.props["uploads"];
  return (
    <>
      <Text entry={entry} />
      {Array.isArray(files) && files.length > 0 && (
        <ul className={style.files}>
          {files.map((file: unknown, index) => (
            <li key={index}>
              <Icon name="attach" size={14} /> {isRecord(file) ? nameOf(file["name"]) : nameOf(file)}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function ToolCall({ entry }: { readonly entry: Entry }): ReactNode {
  const say = useText();
  const name = nameOf(entry.props["name"]);
  return (
    <Fold icon="settings" title={say("tool", { name })} note={entry.isOpen ? "…" : undefined}>
      <pre className={style.pre} tabIndex={0} aria-label={say("input")}>
        {pretty(entry.text)}
      </pre>
    </Fold>
  );
}

function Execution({ entry: { props } }: { readonly entry: Entry }): ReactNode {
  const say = useText();
  const status = props["status"];
  const [tone, word] =
    status === "running"
      ? (["info", say("toolRunning")] as const)
      : status === "error"
        ? (["danger", say("toolFailed")] as const)
        : (["good", say("toolDone")] as const);
  return (
    <Fold
      icon="play"
      title={nameOf(props["tool"])}
      badge={<Badge tone={tone}>{word}</Badge>}
      note={nameOf(props["progress"]) || undefined}
    >
      <Part label={say("input")} value={props["input"]} />
      <Part label={say("output")} value={props["output"]} />
      <Raw title={say("raw")} value={props} />
    </Fold>
  );
}

function Part({ label, value }: { readonly label: string; readonly value: unknown }): ReactNode {
  if (value === undefined || value === "") return null;
  return (
    <div>
      <p className={style.partLabel}>{label}</p>
      <pre className={style.pre} tabIndex={0} aria-label={label}>
        {typeof value === "string" ? value : JSON.stringify(value, null, 2)}
      </pre>
    </div>
  );
}

function Raw({ title, value }: { readonly title: string; readonly value: unknown }): ReactNode {
  return (
    <Fold title={title}>
      <pre className={style.pre} tabIndex={0} aria-label={title}>
        {JSON.stringify(value, null, 2)}
      </pre>
    </Fold>
  );
}

/** Closed until a person opens it; what is inside is built then. */
function Fold(props: {
  readonly title: string;
  readonly icon?: "agent" | "settings" | "play";
  readonly badge?: ReactNode;
  readonly note?: string | undefined;
  readonly children: ReactNode;
}): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className={style.fold} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {props.icon !== undefined && <Icon name={props.icon} size={16} />}
        <span className={style.foldTitle}>{props.title}</span>
        {props.badge}
        {props.note !== undefined && <span className={style.note}>{props.note}</span>}
      </summary>
      {isOpen && <div className={style.foldBody}>{props.children}</div>}
    </details>
  );
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    // Still being said, or not JSON.
    return json;
  }
}

function nameOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
