/** Short messages at the edge of the page, and what is said to screen readers. */

import { type ReactNode, useEffect } from "react";
import { create } from "zustand";

import { browserClock } from "../app/clock.ts";
import { ApiError } from "../api/error.ts";
import { Button, IconButton } from "./button.tsx";
import style from "./toast.module.css";
import { useText } from "./text.ts";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isError: boolean;
  readonly action?: { readonly label: string; readonly run: () => void };
}

interface ToastState {
  readonly toasts: readonly Toast[];
  readonly spoken: string;
}

const MAX_TOASTS = 4;
const SHOWN_MS = 10_000;
const useToasts = create<ToastState>()(() => ({ toasts: [], spoken: "" }));
let last = 0;

/** Shows a message for ten seconds; errors stay until they are dismissed. */
export function toast(text: string, options: Partial<Pick<Toast, "isError" | "action">> = {}): void {
  const added: Toast = { id: (last += 1), text, isError: options.isError ?? false, ...options };
  useToasts.setState(({ toasts }) => ({ toasts: [...toasts, added].slice(-MAX_TOASTS) }));
}

/** Tells that something failed, and why. */
export function toastError(thrown: unknown): void {
  const error = ApiError.from(thrown);
  const text = error.status === 0 && error.code === "unavailable" ? useText.say("noAnswer") : error.message;
  toast(error.requestId === "" ? text : `${text} (${error.requestId})`, { isError: true });
}

/** Says a text to screen readers at once. */
export function announce(text: string): void {
  // The same text twice is read twice only when it differs.
  useToasts.setState(({ spoken }) => ({ spoken: spoken === text ? `${text} ` : text }));
}

function dismiss(id: number): void {
  useToasts.setState(({ toasts }) => ({ toasts: toasts.filter((toast) => toast.id !== id) }));
}

/** Where the messages appear; once per page. */
export function Toasts(): ReactNode {
  const { toasts, spoken } = useToasts();
  return (
    <>
      <div className={style.spoken} aria-live="assertive" data-testid="spoken">
        {spoken}
      </div>
      <div className={style.toasts} role="region" aria-live="polite" aria-label={useText()("notices")}>
        {toasts.map((item) => (
          <ToastItem key={item.id} toast={item} />
        ))}
      </div>
    </>
  );
}

function ToastItem({ toast: { id, text, isError, action } }: { readonly toast: Toast }): ReactNode {
  const say = useText();
  useEffect(() => (isError ? undefined : browserClock.after(SHOWN_MS, () => dismiss(id))), [id, isError]);
  return (
    <div className={isError ? style.error : style.toast} role={isError ? "alert" : undefined}>
      <p>{text}</p>
      {action !== undefined && (
        <Button
          onClick={() => {
            dismiss(id);
            action.run();
          }}
        >
          {action.label}
        </Button>
      )}
      <IconButton icon="close" label={say("dismiss")} onClick={() => dismiss(id)} />
    </div>
  );
}
