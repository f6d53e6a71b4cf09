/**
 * The frame behind the log-in: session, workspace, feed, navigation; and the page inside it.
 *
 * S1  Nothing is loaded before the feed's number is known: what changes later comes as an event, so nothing is missed.
 */

import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";

import { ApiError } from "../api/error.ts";
import { listTasks } from "../api/tasks.ts";
import { listWorkspaces } from "../api/workspaces.ts";
import { FeedProvider, useIsOffline } from "../feed/use-feed.tsx";
import { LinkButton } from "../ui/button.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Loaded, Skeleton } from "../ui/state.tsx";
import { ErrorBoundary } from "./error-boundary.tsx";
import { FirstWorkspace } from "./first-workspace.tsx";
import { PUSH_KEPT, readKept } from "./kept.ts";
import { Navigation } from "./navigation.tsx";
import { PAGES } from "./pages.ts";
import { useSession } from "./session.ts";
import style from "./shell.module.css";
import { ShortcutSheet } from "./shortcut-sheet.tsx";
import { useKeyboard } from "./shortcuts.ts";
import { useText } from "./text.ts";
import { useWorkspaceChoice } from "./workspace.ts";
import { later } from "../ui/later.tsx";

const LastBoardView = later(() => import("../pages/board/last-board-view.tsx"));

const MAX_RETRIES = 2;

/** Caches of this tab; nothing polls, the feed says what changed. */
const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnWindowFocus: false,
      retry: (count, error) => count < MAX_RETRIES && ApiError.from(error).isRetryable,
    },
  },
});

/** Everything behind the log-in. */
export default function Shell(): ReactNode {
  const { status, error, load } = useSession();
  const [place] = useLocation();
  useEffect(() => {
    if (status === "unknown") void load();
    if (status === "out") client.clear();
  }, [status, load]);
  if (status === "out") return <Redirect to={`/login?to=${encodeURIComponent(place + location.search)}`} replace />;
  if (status === "failed") {
    return <LastBoardView error={error} onRetry={() => void load()} />;
  }
  if (status === "unknown") return <Skeleton lines={6} />;
  return (
    <QueryClientProvider client={client}>
      <InWorkspace />
    </QueryClientProvider>
  );
}

function InWorkspace(): ReactNode {
  const { id, choose } = useWorkspaceChoice();
  const workspaces = useQuery({ queryKey: ["workspaces"], queryFn: () => listWorkspaces({}) });
  const known = workspaces.data?.workspaces;
  const chosen = known?.find((workspace) => workspace.id === id) ?? known?.find((one) => one.is_default) ?? known?.[0];
  useEffect(() => {
    if (chosen !== undefined && chosen.id !== id) choose(chosen.id);
  }, [chosen, id, choose]);
  return (
    <Loaded query={workspaces} lines={6}>
      {() => (chosen === undefined || chosen.id !== id ? <FirstWorkspace /> : <InFeed workspace={chosen.id} />)}
    </Loaded>
  );
}

function InFeed({ workspace }: { readonly workspace: string }): ReactNode {
  const start = useQuery({
    queryKey: ["feed-start", workspace],
    queryFn: () => listTasks({ workspace, limit: 1 }),
    // Where the feed began for this tab: reading it again would skip what came in between.
    enabled: (query) => query.state.data === undefined,
  });
  return (
    <Loaded query={start} lines={6}>
      {({ feed_seq }) => (
        <FeedProvider key={workspace} workspace={workspace} cursor={feed_seq}>
          <Frame />
        </FeedProvider>
      )}
    </Loaded>
  );
}

function Frame(): ReactNode {
  const say = useText();
  const [place] = useLocation();
  useKeyboard();
  useEffect(() => {
    if (readKept(PUSH_KEPT) !== undefined) void import("./push.ts").then(({ resumePush }) => resumePush());
  }, []);
  return (
    <div className={style.frame}>
      <a className={style.skip} href="#main" onClick={focusMain}>
        {say("skip")}
      </a>
      <Navigation />
      <div className={style.content}>
        <OfflineBanner />
        <main id="main" className={style.main} tabIndex={-1}>
          <ErrorBoundary place={place}>
            <Switch>
              {PAGES.map(({ path, page }) => (
                <Route key={String(path)} path={path} component={page} />
              ))}
              <Route>
                <NotFound />
              </Route>
            </Switch>
          </ErrorBoundary>
        </main>
      </div>
      <ShortcutSheet />
    </div>
  );
}

// A fragment in the address would be a step in the history.
function focusMain(event: { preventDefault: () => void }): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function OfflineBanner(): ReactNode {
  const say = useText();
  const isOffline = useIsOffline();
  return (
    <div role="status" className={isOffline ? style.offline : undefined}>
      {isOffline && say("offline")}
    </div>
  );
}

function NotFound(): ReactNode {
  const say = useText();
  return (
    <Page title={say("notFound")}>
      <Empty icon="question" title={say("notFound")} text={say("notFoundText")}>
        <LinkButton href="/board" kind="primary">
          {say("toBoard")}
        </LinkButton>
      </Empty>
    </Page>
  );
}
