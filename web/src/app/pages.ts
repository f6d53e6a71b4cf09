/** The pages behind the log-in, each in a chunk of its own. A new page is a row here and a folder in `pages/`. */

import { type ComponentType } from "react";

import type { IconName } from "../ui/icon.tsx";
import { later } from "../ui/later.tsx";

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

const work = later(() => import("../pages/work/work-page.tsx"));

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
    page: later(() => import("../pages/inbox/inbox-page.tsx")),
    nav: { key: "inbox", href: "/inbox", icon: "inbox", letter: "i" },
  },
  {
    path: "/devices",
    page: later(() => import("../pages/devices/devices-page.tsx")),
    nav: { key: "devices", href: "/devices", icon: "devices", letter: "d" },
  },
  { path: "/devices/:device", page: later(() => import("../pages/devices/device-page.tsx")) },
  {
    path: "/runs",
    page: later(() => import("../pages/runs/runs-page.tsx")),
    nav: { key: "runs", href: "/runs", icon: "play", letter: "r" },
  },
  { path: "/runs/:run", page: later(() => import("../pages/runs/run-page.tsx")) },
  {
    path: "/documents",
    page: later(() => import("../pages/documents/documents-page.tsx")),
    nav: { key: "documents", href: "/documents", icon: "document", letter: "o" },
  },
  { path: "/documents/:document", page: later(() => import("../pages/documents/document-page.tsx")) },
  {
    path: "/files",
    page: later(() => import("../pages/files/files-page.tsx")),
    nav: { key: "files", href: "/files", icon: "folder", letter: "f" },
  },
  {
    path: "/assistants",
    page: later(() => import("../pages/assistants/assistants-page.tsx")),
    nav: { key: "assistants", href: "/assistants", icon: "agent", letter: "a" },
  },
  { path: "/assistants/:assistant", page: later(() => import("../pages/assistants/assistant-page.tsx")) },
  {
    path: "/evals",
    page: later(() => import("../pages/evals/evals-page.tsx")),
    nav: { key: "evals", href: "/evals", icon: "eval", letter: "e" },
  },
  { path: "/evals/:eval", page: later(() => import("../pages/evals/eval-page.tsx")) },
  {
    path: "/evals",
    page: later(() => import("../pages/evals/evals-page.tsx")),
    nav: { key: "evals", href: "/evals", icon: "eval", letter: "e" },
  },
  { path: "/evals/:eval", page: later(() => import("../pages/evals/eval-page.tsx")) },
  {
    path: "/settings/:section?",
    page: later(() => import("../pages/settings/settings-page.tsx")),
    nav: { key: "settings", href: "/settings", icon: "settings", letter: "s" },
  },
];
