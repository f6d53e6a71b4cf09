/** What a child process inherits of the environment. Pure. */

// What programs need to work at all: where things are, who asks, language, time zone, certificates. Nothing secret.
const INHERITED =
  /^(PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LC_\w+|TZ|TMPDIR|TEMP|TMP|SYSTEMROOT|SYSTEMDRIVE|COMSPEC|PATHEXT|APPDATA|LOCALAPPDATA|USERPROFILE|SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS)$/i;

/**
 * The variables every child may have, and those named in `also`; no others, so that no credential is handed on by
 * oversight. Names are matched whatever their case, as Windows does.
 */
export function inheritedEnv(
  env: Readonly<Record<string, string | undefined>>,
  also: readonly string[] = [],
): Record<string, string> {
  const named = new Set(also.map((name) => name.toUpperCase()));
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value !== undefined && (INHERITED.test(name) || named.has(name.toUpperCase())) ? [[name, value]] : [],
    ),
  );
}
