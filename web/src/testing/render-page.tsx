/** Renders a page of the app against the fake coordinator, over real HTTP. */

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render } from "@testing-library/react";
import { Suspense } from "react";
import { vi } from "vitest";
import { Route, Router, Switch } from "wouter";
import { memoryLocation } from "wouter/memory-location";

import { setCsrfToken } from "../api/client.ts";
import { PAGES } from "../app/pages.ts";
import { useSession } from "../app/session.ts";
import { useWorkspaceChoice } from "../app/workspace.ts";
import { FeedProvider } from "../feed/use-feed.tsx";
import { useLocale } from "../i18n/locale.ts";
import { Toasts } from "../ui/toast.tsx";
import type { FakeMesh } from "./fake-mesh.ts";

/** Shows what stands at the path; returns where the page went since. */
export async function renderPage(mesh: FakeMesh, path: string): Promise<{ readonly history: readonly string[] }> {
  const url = await mesh.listen();
  const { happyDOM } = globalThis as unknown as { happyDOM: { setURL: (url: string) => void } };
  // The page comes from the coordinator, as in a browser: its calls go to the same origin.
  happyDOM.setURL(url + path);
  // One connection per page: what tabs share is tested where it is built.
  vi.stubGlobal("BroadcastChannel", undefined);
  Object.defineProperty(navigator, "locks", { value: undefined, configurable: true });
  setCsrfToken(mesh.state.csrfToken);
  useLocale.getState().setLocale("en");
  useWorkspaceChoice.setState({ id: "ws_1" });
  useSession.setState({ status: "in", account: mesh.state.account });
  const { hook, searchHook, history } = memoryLocation({ path, record: true });
  const client = new QueryClient({
    defaultOptions: { queries: { retry: false, staleTime: Number.POSITIVE_INFINITY } },
  });
  render(
    <QueryClientProvider client={client}>
      <FeedProvider workspace="ws_1" cursor={mesh.state.feedSeq}>
        <Router hook={hook} searchHook={searchHook}>
          <Suspense fallback="loading">
            <Switch>
              {PAGES.map(({ path: pattern, page }) => (
                <Route key={String(pattern)} path={pattern} component={page} />
              ))}
            </Switch>
          </Suspense>
        </Router>
      </FeedProvider>
      <Toasts />
    </QueryClientProvider>,
  );
  return { history };
}
