/** Who is logged in. */

import type { Account } from "@mesh/proto";
import { create } from "zustand";

import { getAccount, logIn, logOut, updateAccount } from "../api/accounts.ts";
import { setCsrfToken, setOnUnauthenticated } from "../api/client.ts";
import { ApiError, isRecord } from "../api/error.ts";
import { localeOf, useLocale } from "../i18n/locale.ts";
import { PUSH_KEPT, readKept, writeKept } from "./kept.ts";
import { themeOf, useTheme } from "./theme.ts";

interface SessionState {
  /** `unknown` until the server was asked. */
  readonly status: "unknown" | "in" | "out" | "failed";
  readonly account: Account | undefined;
  readonly error: ApiError | undefined;
  /** Asks the server who is logged in. */
  readonly load: () => Promise<void>;
  /** Takes over what a log-in answered. */
  readonly enter: (account: Account, csrfToken: string) => void;
  /** Forgets the session without asking the server. */
  readonly leave: () => void;
}

/** The session of this browser. */
export const useSession = create<SessionState>()((set) => ({
  status: "unknown",
  account: undefined,
  error: undefined,
  load: async () => {
    try {
      const { account, csrf_token } = await getAccount({});
      if (account === undefined)
        throw new ApiError({ status: 0, code: "internal", message: "no account in the answer" });
      useSession.getState().enter(account, csrf_token);
    } catch (thrown) {
      const error = ApiError.from(thrown);
      set(error.status === 401 ? { status: "out", error: undefined } : { status: "failed", error });
    }
  },
  enter: (account, csrfToken) => {
    setCsrfToken(csrfToken);
    set({ status: "in", account, error: undefined });
    // What a person chose on another device holds here too, unless this browser chose for itself.
    const locale = localeOf(account.locale);
    if (locale !== undefined && readKept("locale") === undefined) useLocale.getState().setLocale(locale);
    if (account.theme !== "" && readKept("theme") === undefined) useTheme.getState().setTheme(themeOf(account.theme));
  },
  leave: () => {
    setCsrfToken("");
    set({ status: "out", account: undefined });
  },
}));

setOnUnauthenticated(() => useSession.getState().leave());

/** Logs in by name and password, or by a one-time code. */
export async function enterWith(request: { name?: string; password?: string; code?: string }): Promise<void> {
  const { account, csrf_token } = await logIn(request);
  if (account === undefined) throw new ApiError({ status: 0, code: "internal", message: "no account in the answer" });
  useSession.getState().enter(account, csrf_token);
}

/** Ends the session, here and on the server; what this browser kept of it is forgotten. */
export async function endSession(): Promise<void> {
  await logOut({});
  useSession.getState().leave();
  writeKept(PUSH_KEPT, undefined);
  if ("caches" in globalThis) await caches.delete("last-board");
}

/** What the page keeps for a person across devices. */
export interface Preferences {
  /** Single letters do something. */
  readonly letters: boolean;
  /** Finished replies are read aloud by screen readers. */
  readonly readReplies: boolean;
}

const DEFAULTS: Preferences = { letters: true, readReplies: false };

/** The preferences of an account; what is not readable counts as not set. */
export function preferencesOf(account: Account | undefined): Preferences {
  let kept: unknown;
  try {
    kept = JSON.parse(account?.preferences_json ?? "");
  } catch {
    return DEFAULTS;
  }
  if (!isRecord(kept)) return DEFAULTS;
  const flag = (name: keyof Preferences): boolean => (typeof kept[name] === "boolean" ? kept[name] : DEFAULTS[name]);
  return { letters: flag("letters"), readReplies: flag("readReplies") };
}

/** Changes preferences of the person who is logged in; nothing is sent when nothing changes. */
export async function savePreferences(change: Partial<Preferences>): Promise<void> {
  const { account } = useSession.getState();
  const before = preferencesOf(account);
  const preferences_json = JSON.stringify({ ...before, ...change });
  if (preferences_json === JSON.stringify(before)) return;
  const answer = await updateAccount({ preferences_json });
  if (answer.account !== undefined) useSession.setState({ account: answer.account });
}
