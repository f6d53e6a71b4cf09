/** A modal dialog on the browser's own element: focus stays inside and goes back to where it was. */

import { type ReactNode, useEffect, useId, useRef } from "react";

import { Button, IconButton } from "./button.tsx";
import { classes } from "./class.ts";
import style from "./dialog.module.css";
import { useText } from "./text.ts";

/** A dialog that is open as long as it is rendered. */
export function Dialog({
  title,
  onClose,
  children,
  wide = false,
}: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly wide?: boolean;
}): ReactNode {
  const say = useText();
  const id = useId();
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    const opener = document.activeElement;
    if (dialog !== null && !dialog.open) dialog.showModal();
    return () => {
      dialog?.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      className={classes(style.dialog, wide && style.wide)}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header className={style.head}>
        <h2 id={id}>{title}</h2>
        <IconButton icon="close" label={say("close")} onClick={onClose} />
      </header>
      <div className={style.body}>{children}</div>
    </dialog>
  );
}

/** The row of buttons at the end of a dialog or form. */
export function Actions({ children }: { readonly children: ReactNode }): ReactNode {
  return <div className={style.actions}>{children}</div>;
}

/** Asks before something that cannot be undone. */
export function Confirm({
  title,
  text,
  action,
  onYes,
  onClose,
}: {
  readonly title: string;
  readonly text: string;
  readonly action: ReactNode;
  readonly onYes: () => void;
  readonly onClose: () => void;
}): ReactNode {
  const say = useText();
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{text}</p>
      <Actions>
        <Button onClick={onClose}>{say("cancel")}</Button>
        <Button kind="danger" onClick={onYes}>
          {action}
        </Button>
      </Actions>
    </Dialog>
  );
}
