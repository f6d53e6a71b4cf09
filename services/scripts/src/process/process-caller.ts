/** Who calls a process: the identity and the life of the run it belongs to. */

/** Who is asking; two workspaces, users or chats never see each other's data. */
export interface Scope {
  readonly workspaceId: string;
  readonly userId: string;
  readonly teamId?: string;
  readonly chatId?: string;
  readonly runId: string;
}

/** What a process knows about its caller besides the arguments. */
export interface ProcessCaller {
  /** Aborted when the run ends; every wait of a handler takes it. */
  readonly signal: AbortSignal;
  readonly scope: Scope;
  /** Lower-case locale such as `en-us`. */
  readonly locale: string;
  /** The embedder's own context of the run; handlers of this package never look into it. */
  readonly ctx?: unknown;
}
