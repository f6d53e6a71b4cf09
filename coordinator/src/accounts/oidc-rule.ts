/** Who may come in through an OpenID Connect provider, and as what. Pure. */

/** What the provider says of a person. */
export interface OidcPerson {
  readonly issuer: string;
  readonly subject: string;
  /** Only one that the provider has verified. */
  readonly email: string | undefined;
  readonly userName: string | undefined;
  readonly displayName: string;
  readonly groups: readonly string[];
}

/** What the operator allows. */
export interface OidcRules {
  /** Domains of e-mail addresses, whole addresses, or `group:NAME`; nobody unknown comes in when it is empty. */
  readonly allow: readonly string[];
  /** Members of this group are administrators, and nobody else that comes in this way; undefined leaves it to administrators. */
  readonly groupAdmin: string | undefined;
}

/** Whether an unknown person may have an account. */
export function isAllowed({ allow }: OidcRules, person: OidcPerson): boolean {
  const email = person.email?.toLowerCase();
  return allow.some((entry) => {
    if (entry.startsWith("group:")) return person.groups.includes(entry.slice("group:".length));
    if (email === undefined) return false;
    const wanted = entry.toLowerCase();
    return wanted.includes("@") && !wanted.startsWith("@")
      ? email === wanted
      : domainOf(email) === wanted.replace(/^@/, "");
  });
}

/** Whether the person is to be an administrator; undefined keeps what is. */
export function isAdminBy({ groupAdmin }: OidcRules, person: OidcPerson): boolean | undefined {
  return groupAdmin === undefined ? undefined : person.groups.includes(groupAdmin);
}

/** Reads what the provider says; undefined when it lacks a subject. */
export function readPerson(issuer: string, claims: Readonly<Record<string, unknown>>): OidcPerson | undefined {
  const { sub, email, preferred_username: userName, name, groups } = claims;
  if (typeof sub !== "string" || sub === "" || sub.length > 255) return undefined;
  // An address that nobody has verified may be anybody's.
  const isVerified = claims["email_verified"] === true && typeof email === "string" && email.length <= 320;
  return {
    issuer,
    subject: sub,
    email: isVerified ? email : undefined,
    userName: typeof userName === "string" ? userName : undefined,
    displayName: typeof name === "string" ? name.slice(0, 100) : "",
    groups: Array.isArray(groups) ? groups.filter((group): group is string => typeof group === "string") : [],
  };
}

/** Names to try for a new account, the best first; the last ones are free with near certainty. */
export function accountNames(person: OidcPerson, random: string): readonly string[] {
  const wanted = person.userName ?? person.email?.split("@")[0] ?? "user";
  const plain =
    wanted
      .replaceAll(/[^A-Za-z0-9._@-]/g, "-")
      .replace(/^[^A-Za-z0-9]+/, "")
      .slice(0, 50) || "user";
  return [plain, ...Array.from({ length: 8 }, (_, i) => `${plain}-${i + 2}`), `${plain}-${random}`];
}

function domainOf(email: string): string {
  return email.slice(email.lastIndexOf("@") + 1);
}
