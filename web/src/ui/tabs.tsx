/** Tabs, with the arrow keys. */

import { type KeyboardEvent, type ReactNode, useId } from "react";

import style from "./tabs.module.css";

/** One tab. */
export interface Tab<Id extends string> {
  readonly id: Id;
  readonly label: string;
}

/** The row of tabs and the panel of the chosen one. */
export function Tabs<Id extends string>({
  label,
  tabs,
  current,
  onChange,
  children,
}: {
  readonly label: string;
  readonly tabs: readonly Tab<Id>[];
  readonly current: Id;
  readonly onChange: (id: Id) => void;
  readonly children: ReactNode;
}): ReactNode {
  const id = useId();
  const onKey = (event: KeyboardEvent<HTMLDivElement>): void => {
    const at = tabs.findIndex((tab) => tab.id === current);
    const steps: Readonly<Record<string, number>> = {
      ArrowRight: (at + 1) % tabs.length,
      ArrowLeft: at - 1,
      Home: 0,
      End: -1,
    };
    const target = steps[event.key];
    const next = target === undefined ? undefined : tabs.at(target);
    if (next === undefined) return;
    event.preventDefault();
    onChange(next.id);
    document.getElementById(`${id}-${next.id}`)?.focus();
  };
  return (
    <div className={style.tabs}>
      <div role="tablist" aria-label={label} className={style.list} onKeyDown={onKey}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            id={`${id}-${tab.id}`}
            type="button"
            role="tab"
            aria-selected={tab.id === current}
            aria-controls={tab.id === current ? `${id}-panel` : undefined}
            tabIndex={tab.id === current ? 0 : -1}
            onClick={() => onChange(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${current}`} tabIndex={0} className={style.panel}>
        {children}
      </div>
    </div>
  );
}
