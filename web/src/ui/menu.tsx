/** A menu behind a button, by mouse, touch and keys. */

import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";

import { Button, type ButtonKind } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";
import style from "./menu.module.css";

/** One thing to choose. */
export interface MenuItem {
  readonly label: string;
  readonly icon?: IconName;
  readonly run: () => void;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  /** Of a choice among several: the current one. */
  readonly checked?: boolean;
}

/** What a menu's button shows. */
export interface MenuProps {
  readonly label: string;
  /** A function is asked when the menu opens. */
  readonly items: readonly MenuItem[] | (() => readonly MenuItem[]);
  /** What stands on the button; only an icon needs the label for readers. */
  readonly icon?: IconName;
  readonly text?: string;
  readonly kind?: ButtonKind;
  readonly className?: string | undefined;
  readonly tabIndex?: number;
}

/** The button with its menu; the items are built only while it is open. */
export function Menu({ label, items, icon = "more", text, kind = "quiet", ...rest }: MenuProps): ReactNode {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const [open, setOpen] = useState(false);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <>
      <Button
        ref={button}
        kind={kind}
        {...rest}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        aria-label={text === undefined ? label : undefined}
        title={text === undefined ? label : undefined}
        onClick={(event) => {
          event.stopPropagation();
          setOpen(!open);
        }}
      >
        <Icon name={icon} />
        {text}
      </Button>
      {open && (
        <MenuList
          id={id}
          label={label}
          items={typeof items === "function" ? items() : items}
          anchor={button.current}
          onClose={close}
        />
      )}
    </>
  );
}

function MenuList(props: {
  readonly id: string;
  readonly label: string;
  readonly items: readonly MenuItem[];
  readonly anchor: HTMLElement | null;
  readonly onClose: () => void;
}): ReactNode {
  const { items, anchor, onClose } = props;
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const menu = list.current;
    if (menu === null) return;
    // In the top layer no scrolling box cuts it off.
    menu.showPopover?.();
    if (anchor !== null) place(menu, anchor);
    buttonsOf(menu)[0]?.focus();
    const outside = (event: Event): void => {
      if (event.target instanceof Node && !menu.contains(event.target) && anchor?.contains(event.target) !== true)
        onClose();
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
    // Opened once per rendering of the list.
  }, []);
  const choose = (item: MenuItem): void => {
    onClose();
    item.run();
  };
  return (
    <div
      ref={list}
      id={props.id}
      role="menu"
      tabIndex={-1}
      aria-label={props.label}
      popover="manual"
      className={style.menu}
      onKeyDown={(event) => onKey(event, list.current, onClose)}
    >
      {items.map((item) => (
        <button
          key={item.label}
          type="button"
          role={item.checked === undefined ? "menuitem" : "menuitemradio"}
          aria-checked={item.checked}
          tabIndex={-1}
          disabled={item.disabled}
          className={item.danger === true ? style.danger : style.item}
          onClick={(event) => {
            event.stopPropagation();
            choose(item);
          }}
        >
          <span className={style.mark}>
            {item.checked === true ? <Icon name="check" /> : item.icon !== undefined && <Icon name={item.icon} />}
          </span>
          {item.label}
        </button>
      ))}
    </div>
  );
}

function buttonsOf(menu: HTMLElement): HTMLButtonElement[] {
  return [...menu.querySelectorAll<HTMLButtonElement>("button:not(:disabled)")];
}

function onKey(event: KeyboardEvent, menu: HTMLElement | null, close: () => void): void {
  if (menu === null) return;
  event.stopPropagation();
  const buttons = buttonsOf(menu);
  const at = buttons.findIndex((button) => button === document.activeElement);
  const targets: Readonly<Record<string, number>> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
  const target = targets[event.key];
  if (target !== undefined) {
    event.preventDefault();
    buttons.at(target >= buttons.length ? 0 : target)?.focus();
  } else if (event.key === "Escape" || event.key === "Tab") {
    event.preventDefault();
    close();
  } else if (event.key.length === 1 && event.key !== " ") {
    const letter = event.key.toLowerCase();
    const ordered = [...buttons.slice(at + 1), ...buttons.slice(0, at + 1)];
    ordered.find((button) => button.textContent.trim().toLowerCase().startsWith(letter))?.focus();
  }
}

function place(menu: HTMLElement, anchor: HTMLElement): void {
  const box = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = menu;
  const left = Math.max(8, Math.min(box.right - width, innerWidth - width - 8));
  const below = box.bottom + 4;
  const top = below + height > innerHeight - 8 ? Math.max(8, box.top - height - 4) : below;
  menu.style.left = `${left}px`;
  menu.style.top = `${top}px`;
}
