/** Which of the device's variables an app may read as `$ENV.NAME`. Pure. */

const ALLOWED = /_(API_KEY|HOST|BASE_URL|PROXY|MODEL|LLM|ENDPOINT)$/;
// Credentials and settings of the mesh itself are nobody's business.
const OURS = /^YAO_/;

/** The variables whose names say that they are for model connectors, and those the device's owner listed. */
export function allowedEnv(
  env: Readonly<Record<string, string | undefined>>,
  listed: readonly string[],
): Readonly<Record<string, string>> {
  const out: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || OURS.test(name)) continue;
    if (ALLOWED.test(name) || listed.includes(name)) out[name] = value;
  }
  return out;
}
