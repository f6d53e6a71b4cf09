/** Parts that pages of lists and details are made of. */

import type { ReactNode } from "react";

import style from "./list.module.css";

/** A list of rows in boxes. */
export function Rows({ label, children }: { readonly label?: string; readonly children: ReactNode }): ReactNode {
  return (
    <ul className={style.rows} aria-label={label}>
      {children}
    </ul>
  );
}

/** One row. */
export function Row({ children }: { readonly children: ReactNode }): ReactNode {
  return <li className={style.row}>{children}</li>;
}

/** The part of a row that takes the room that is left. */
export function Main({ children }: { readonly children: ReactNode }): ReactNode {
  return <div className={style.main}>{children}</div>;
}

/** Things beside each other that wrap. */
export function Line({ children }: { readonly children: ReactNode }): ReactNode {
  return <div className={style.line}>{children}</div>;
}

/** Something said beside. */
export function Note({ children }: { readonly children: ReactNode }): ReactNode {
  return <p className={style.note}>{children}</p>;
}

/** What went wrong with the thing above it. */
export function Problem({ children }: { readonly children: ReactNode }): ReactNode {
  return <p className={style.problem}>{children}</p>;
}

/** A part of a page under a heading of its own. */
export function Section({
  title,
  actions,
  children,
}: {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <section className={style.section} aria-label={title}>
      <div className={style.head}>
        <h2>{title}</h2>
        <div className={style.line}>{actions}</div>
      </div>
      {children}
    </section>
  );
}

/** Names with their values; what has no value is left out. */
export function Facts({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ReactNode])[];
}): ReactNode {
  return (
    <dl className={style.facts}>
      {facts.map(([name, value]) =>
        value === undefined || value === "" ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

/** A form whose fields stand below each other. */
export function Form({
  onSubmit,
  children,
}: {
  readonly onSubmit: () => void;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <form
      className={style.form}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}

/** Fields beside each other where there is room. */
export function Fields({ children }: { readonly children: ReactNode }): ReactNode {
  return <div className={style.fields}>{children}</div>;
}

/** Text as a machine reads it, such as a command; it scrolls inside. */
export function Code({ label, children }: { readonly label: string; readonly children: string }): ReactNode {
  return (
    <pre className={style.code} tabIndex={0} role="region" aria-label={label}>
      <code>{children}</code>
    </pre>
  );
}
