/** The navigation: a rail at the side, on a phone a bar at the bottom. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";

import { listInbox } from "../api/inbox.ts";
import { listWorkspaces } from "../api/workspaces.ts";
import { LOCALE_NAMES, LOCALES, useLocale } from "../i18n/locale.ts";
import { Icon } from "../ui/icon.tsx";
import { Menu, type MenuItem } from "../ui/menu.tsx";
import { Hidden } from "../ui/state.tsx";
import { toastError } from "../ui/toast.tsx";
import { updateAccount } from "../api/accounts.ts";
import style from "./navigation.module.css";
import { type NavEntry, PAGES } from "./pages.ts";
import { endSession, useSession } from "./session.ts";
import { useShortcutSheet } from "./shortcut-sheet.tsx";
import { useShortcut } from "./shortcuts.ts";
import { useText } from "./text.ts";
import { THEMES, useTheme } from "./theme.ts";
import { useWorkspace, useWorkspaceChoice } from "./workspace.ts";

const ENTRIES = PAGES.flatMap(({ nav }) => (nav === undefined ? [] : [nav]));
/** On a phone; the rest is behind "More". */
const MAX_TABS = 4;

/** The navigation with what belongs to the whole page. */
export function Navigation(): ReactNode {
  const say = useText();
  return (
    <header className={style.nav}>
      <nav aria-label={say("main")}>
        <ul className={style.list}>
          {ENTRIES.map((entry, index) => (
            <li key={entry.key} className={index >= MAX_TABS ? style.rest : undefined}>
              <Entry entry={entry} />
            </li>
          ))}
        </ul>
      </nav>
      <div className={style.foot}>
        <MoreMenu />
        <WorkspaceMenu />
        <AccountMenu />
      </div>
    </header>
  );
}

function Entry({ entry: { key, href, icon, letter } }: { readonly entry: NavEntry }): ReactNode {
  const say = useText();
  const [place, go] = useLocation();
  useShortcut(`g ${letter}`, say("goTo", { page: say(key) }), () => go(href));
  const isHere = place.startsWith(href) || (key === "board" && (place === "/" || place.startsWith("/task/")));
  return (
    <Link href={href} className={style.entry} aria-current={isHere ? "page" : undefined}>
      <Icon name={icon} size={22} />
      <span className={style.label}>{say(key)}</span>
      {key === "inbox" && <Unread />}
    </Link>
  );
}

function Unread(): ReactNode {
  const say = useText();
  const { data } = useQuery({ queryKey: ["inbox", "unread"], queryFn: () => listInbox({ limit: 1 }) });
  const count = data?.unread ?? 0;
  if (count === 0) return null;
  return (
    <span className={style.unread}>
      <span aria-hidden="true">{count > 99 ? "99+" : count}</span>
      <Hidden>{say("unread", { count })}</Hidden>
    </span>
  );
}

function MoreMenu(): ReactNode {
  const say = useText();
  const [, go] = useLocation();
  if (ENTRIES.length <= MAX_TABS) return null;
  const items = ENTRIES.slice(MAX_TABS).map(({ key, href, icon }) => ({ label: say(key), icon, run: () => go(href) }));
  return <Menu className={style.more} label={say("more")} icon="menu" items={items} />;
}

function WorkspaceMenu(): ReactNode {
  const say = useText();
  const [, go] = useLocation();
  const current = useWorkspace();
  const choose = useWorkspaceChoice((state) => state.choose);
  const { data } = useQuery({ queryKey: ["workspaces"], queryFn: () => listWorkspaces({}) });
  const workspaces = data?.workspaces ?? [];
  const items = workspaces.map(({ id, name }) => ({
    label: name,
    checked: id === current,
    run: () => {
      choose(id);
      go("/board");
    },
  }));
  const name = workspaces.find(({ id }) => id === current)?.name ?? "";
  return <Menu label={`${say("workspace")}: ${name}`} icon="folder" items={items} />;
}

function AccountMenu(): ReactNode {
  const say = useText();
  const account = useSession((state) => state.account);
  const { theme, setTheme } = useTheme();
  const { locale, setLocale } = useLocale();
  const queries = useQueryClient();
  const keep = (change: { theme?: string; locale?: string }): void => {
    updateAccount(change).catch(toastError);
  };
  const items: MenuItem[] = [
    ...THEMES.map((name) => ({
      label: `${say("theme")}: ${say(name)}`,
      checked: name === theme,
      run: () => {
        setTheme(name);
        keep({ theme: name });
      },
    })),
    ...LOCALES.map((name) => ({
      label: LOCALE_NAMES[name],
      checked: name === locale,
      run: () => {
        setLocale(name);
        keep({ locale: name.toLowerCase() });
      },
    })),
    { label: say("shortcuts"), icon: "question", run: () => useShortcutSheet.setState({ isOpen: true }) },
    { label: say("logOut"), icon: "close", run: () => void endSession().then(() => queries.clear(), toastError) },
  ];
  const name = account?.display_name === "" ? account.name : (account?.display_name ?? "");
  return <Menu label={`${say("account")}: ${name}`} icon="user" items={items} />;
}
