/** The frame of a page: its one h1, the title of the window, and its actions. */

import { type ReactNode, useEffect } from "react";

import { classes } from "./class.ts";
import style from "./page.module.css";

/** Names the window as long as it is shown. */
export function useTitle(title: string): void {
  useEffect(() => {
    const before = document.title;
    document.title = title === "" ? "Yao Mesh" : `${title} · Yao Mesh`;
    return () => {
      document.title = before;
    };
  }, [title]);
}

/** A page. `level` 2 is for a page that stands beside another one. */
export function Page({
  title,
  actions,
  children,
  level = 1,
  fill = false,
}: {
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  readonly level?: 1 | 2;
  /** Takes the whole height and scrolls inside. */
  readonly fill?: boolean;
}): ReactNode {
  useTitle(level === 1 ? title : "");
  const Heading = level === 1 ? "h1" : "h2";
  return (
    <div className={classes(style.page, fill && style.fill)}>
      <header className={style.head}>
        <Heading className={style.title}>{title}</Heading>
        <div className={style.actions}>{actions}</div>
      </header>
      {children}
    </div>
  );
}
