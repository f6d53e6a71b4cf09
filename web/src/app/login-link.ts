/** A link like `/#/login?code=…`: the code stands in the fragment, which no server log sees. */

const FORM = /^#\/login\?(?:.*&)?code=([^&]+)/;
let code: string | undefined;

/** Takes the code out of the address bar and the history, and turns to the log-in page. */
export function takeLoginLink(): void {
  const found = FORM.exec(location.hash)?.[1];
  if (found === undefined) return;
  code = decodeURIComponent(found);
  history.replaceState(null, "", "/login");
}

/** The code, once. */
export function usedLoginCode(): string | undefined {
  const taken = code;
  code = undefined;
  return taken;
}
