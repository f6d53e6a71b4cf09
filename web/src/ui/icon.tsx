/** Icons, drawn in place: nothing is fetched for them. */

import type { ReactNode } from "react";

const PATHS = {
  board: "M4 4h5v16H4zM10.5 4h4v10h-4zM16 4h4v13h-4z",
  inbox: "M4 13l3-8h10l3 8v6H4zM4 13h5l1.5 3h3l1.5-3h5",
  devices: "M3 5h13v9H3zM1 18h15M18 8h4v11h-4z",
  document: "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
  folder: "M3 6h6l2 2h10v11H3z",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  agent: "M5 9h14v10H5zM12 9V5M9 13v2M15 13v2M2 13v3M22 13v3",
  eval: "M4 20V10M10 20V4M16 20v-7M22 20H2",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M13 5v4M7 15v4",
  plus: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6L6 18",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  check: "M5 13l4 4L19 7",
  play: "M7 4l13 8-13 8z",
  stop: "M6 6h12v12H6z",
  retry: "M4 12a8 8 0 1 0 3-6.2M4 4v5h5",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l3 2",
  warning: "M12 3l10 18H2zM12 10v4M12 17.5h.01",
  question: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9.5 9.5a2.5 2.5 0 1 1 3.5 2.3c-.7.3-1 .8-1 1.7M12 16.5h.01",
  lock: "M6 11h12v9H6zM8 11V8a4 4 0 0 1 8 0v3",
  attach: "M20 11l-8 8a5 5 0 0 1-7-7l8-8a3.5 3.5 0 0 1 5 5l-8 8a2 2 0 0 1-3-3l7-7",
  send: "M4 12l16-8-6 16-3-7z",
  back: "M15 5l-7 7 7 7",
  down: "M6 9l6 6 6-6",
  right: "M9 6l6 6-6 6",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
  archive: "M3 5h18v4H3zM5 9v10h14V9M10 13h4",
  edit: "M4 20l1-5L16 4l4 4L9 19z",
  move: "M5 12h14M13 6l6 6-6 6",
  share: "M12 15V4M8 8l4-4 4 4M5 13v7h14v-7",
  user: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 21c1-5 4-7 8-7s7 2 8 7",
  circle: "M12 5a7 7 0 1 0 0 14 7 7 0 0 0 0-14z",
  moon: "M20 14A8 8 0 0 1 10 4a8 8 0 1 0 10 10z",
  download: "M12 4v11M8 11l4 4 4-4M5 20h14",
  upload: "M12 16V5M8 9l4-4 4 4M5 20h14",
  menu: "M4 6h16M4 12h16M4 18h16",
  promote: "M12 20V8M6 13l6-6 6 6M6 4h12",
} as const;

/** Names of the icons. */
export type IconName = keyof typeof PATHS;

/** An icon; it says nothing, the text beside it or the label of its button does. */
export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }): ReactNode {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="2"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
