/**
 * The page: what is open to everybody, and behind the log-in the shell with all the rest.
 *
 * The log-in, invitation and share pages load neither the data layer nor the feed: they stay small.
 */

import { type ReactNode } from "react";
import { Redirect, Route, Switch, useLocation } from "wouter";

import { Toasts } from "../ui/toast.tsx";
import { ErrorBoundary } from "./error-boundary.tsx";
import { later } from "../ui/later.tsx";

const LoginPage = later(() => import("../pages/login/login-page.tsx"));
const JoinPage = later(() => import("../pages/join/join-page.tsx"));
const SharePage = later(() => import("../pages/share/share-page.tsx"));
const Shell = later(() => import("./shell.tsx"));

/** The whole page. */
export function App(): ReactNode {
  const [place] = useLocation();
  return (
    <>
      <ErrorBoundary place={place}>
        <Switch>
          <Route path="/login" component={LoginPage} />
          <Route path="/setup" component={LoginPage} />
          <Route path="/join/:code?" component={JoinPage} />
          <Route path="/s/:code" component={SharePage} />
          <Route path="/">
            <Redirect to="/board" replace />
          </Route>
          <Route component={Shell} />
        </Switch>
      </ErrorBoundary>
      <Toasts />
    </>
  );
}
