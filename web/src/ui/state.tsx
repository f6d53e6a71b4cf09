/** What stands where data will be, is missing, or failed to come. */

import type { ReactNode } from "react";

import { ApiError } from "../api/error.ts";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";
import style from "./state.module.css";
import { useText } from "./text.ts";

/** Grey lines in the place of what is being loaded. */
export function Skeleton({ lines = 3 }: { readonly lines?: number }): ReactNode {
  const say = useText();
  return (
    <div role="status" className={style.skeleton}>
      <span className={style.hidden}>{say("loading")}</span>
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} className={style.line} />
      ))}
    </div>
  );
}

/** Nothing is here; `children` is the next thing to do. */
export function Empty({
  icon,
  title,
  text,
  children,
}: {
  readonly icon: IconName;
  readonly title: string;
  readonly text?: string;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <div className={style.empty}>
      <Icon name={icon} size={32} />
      <p className={style.title}>{title}</p>
      {text !== undefined && <p className={style.text}>{text}</p>}
      {children}
    </div>
  );
}

/** What failed, under which request, and how to try again. */
export function Failure({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }): ReactNode {
  const say = useText();
  const problem = ApiError.from(error);
  return (
    <div role="alert" className={style.failure}>
      <p className={style.title}>{say("failed")}</p>
      <p>{problem.status === 0 && problem.code === "unavailable" ? say("noAnswer") : problem.message}</p>
      {problem.requestId !== "" && <p className={style.text}>{say("request", { id: problem.requestId })}</p>}
      {onRetry !== undefined && (
        <Button icon="retry" onClick={onRetry}>
          {say("retry")}
        </Button>
      )}
    </div>
  );
}

/** The loaded data, or what stands in its place. */
export function Loaded<T>({
  query,
  lines,
  children,
}: {
  readonly query: {
    readonly data: T | undefined;
    readonly error: unknown;
    readonly refetch: () => unknown;
  };
  readonly lines?: number;
  readonly children: (data: T) => ReactNode;
}): ReactNode {
  if (query.data !== undefined) return children(query.data);
  if (query.error !== null && query.error !== undefined) {
    return <Failure error={query.error} onRetry={() => void query.refetch()} />;
  }
  return <Skeleton {...(lines === undefined ? {} : { lines })} />;
}

/** For readers only. */
export function Hidden({ children }: { readonly children: ReactNode }): ReactNode {
  return <span className={style.hidden}>{children}</span>;
}

/** Tone of a badge; never the only sign, the text says it too. */
export type Tone = "plain" | "info" | "good" | "warn" | "danger";

/** A short word in a box. */
export function Badge({
  tone = "plain",
  icon,
  children,
}: {
  readonly tone?: Tone;
  readonly icon?: IconName;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <span className={`${style.badge} ${style[tone]}`}>
      {icon !== undefined && <Icon name={icon} size={14} />}
      {children}
    </span>
  );
}
