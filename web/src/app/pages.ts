/** The pages behind the log-in, each in a chunk of its own. A new page is a row here and a folder in `pages/`. */

import { type ComponentType, lazy } from "react";

import type { IconName } from "../ui/icon.tsx";

/** Where a page is in the navigation. */
export interface NavEntry {
  readonly key: "board" | "inbox" | "runs" | "devices" | "documents" | "files" | "assistants" | "evals" | "settings";
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
  {
    path: "/devices",
    page: lazy(() => import("../pages/devices/devices-page.tsx")),
    nav: { key: "devices", href: "/devices", icon: "devices", letter: "d" },
  },
  { path: "/devices/:device", page: lazy(() => import("../pages/devices/device-page.tsx")) },
  {
    path: "/runs",
    page: lazy(() => import("../pages/runs/runs-page.tsx")),
    nav: { key: "runs", href: "/runs", icon: "play", letter: "r" },
  },
  { path: "/runs/:run", page: lazy(() => import("../pages/runs/run-page.tsx")) },
  {
    path: "/documents",
    page: lazy(() => import("../pages/documents/documents-page.tsx")),
    nav: { key: "documents", href: "/documents", icon: "document", letter: "o" },
  },
  { path: "/documents/:document", page: lazy(() => import("../pages/documents/document-page.tsx")) },
  {
    path: "/files",
    page: lazy(() => import("../pages/files/files-page.tsx")),
    nav: { key: "files", href: "/files", icon: "folder", letter: "f" },
  },
  {
    path: "/assistants",
    page: lazy(() => import("../pages/assistants/assistants-page.tsx")),
    nav: { key: "assistants", href: "/assistants", icon: "agent", letter: "a" },
  },
  { path: "/assistants/:assistant", page: lazy(() => import("../pages/assistants/assistant-page.tsx")) },
  {
    path: "/evals",
    page: lazy(() => import("../pages/evals/evals-page.tsx")),
    nav: { key: "evals", href: "/evals", icon: "eval", letter: "e" },
  },
  { path: "/evals/:eval", page: lazy(() => import("../pages/evals/eval-page.tsx")) },
  {
    path: "/settings/:section?",
    page: lazy(() => import("../pages/settings/settings-page.tsx")),
    nav: { key: "settings", href: "/settings", icon: "settings", letter: "s" },
  },
];
