/** The pages behind the log-in, each in a chunk of its own. A new page is a row here and a folder in `pages/`. */

import { type ComponentType, lazy } from "react";

import type { IconName } from "../ui/icon.tsx";

/** Where a page is in the navigation. */
export interface NavEntry {
  readonly key: "board" | "inbox" | "devices" | "documents" | "files" | "assistants" | "evals" | "settings";
  readonly href: string;
  readonly icon: IconName;
  /** The second letter of its shortcut, after g. */
  readonly letter: string;
}

/** A page. */
export interface PageRow {
  /** A pattern as wouter reads it. */
  readonly path: string | RegExp;
  readonly page: ComponentType;
  readonly nav?: NavEntry;
}

const work = lazy(() => import("../pages/work/work-page.tsx"));

/** All pages; the order of the rows is the order of the navigation. */
export const PAGES: readonly PageRow[] = [
  {
    // One component for both: a task opens beside the board, which stays as it is.
    path: /^\/(?<page>board|task)(?:\/(?<id>[^/]+))?\/?$/,
    page: work,
    nav: { key: "board", href: "/board", icon: "board", letter: "b" },
  },
  {
    path: "/inbox",
    page: lazy(() => import("../pages/inbox/inbox-page.tsx")),
    nav: { key: "inbox", href: "/inbox", icon: "inbox", letter: "i" },
  },
];
