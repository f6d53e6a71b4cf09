/**
 * Which workspaces a caller may use: the one decision on membership.
 *
 * A1  Unknown and foreign are told apart nowhere: both are `not_found` with the same text.
 * A2  A token limited to workspaces never reaches another one, whatever its user may do.
 * A3  A viewer reads and never writes.
 */

import type { Caller } from "./caller.ts";

/** What an operation does with the workspace. */
export type Need = "read" | "write";

/** A workspace the caller may use. */
export interface AllowedWorkspace {
  readonly id: string;
  readonly name: string;
}

/** The object an id names, for the text of a refusal. */
export interface NamedObject {
  /** Such as `run`. */
  readonly kind: string;
  readonly id: string;
  /** The command that lists what there is, such as `yao runs list`. */
  readonly list: string;
}

/** Decides on workspaces; every operation on an id of a workspace asks it first. */
export interface Access {
  /** The workspace by id or name; throws `not_found` (A1), or `permission_denied` for a viewer who writes (A3). */
  workspace(caller: Caller, ref: string, need: Need): Promise<AllowedWorkspace>;
  /**
   * Guards an object found by its own id (a run): `workspaceId` is undefined when no such object exists.
   * Throws `not_found` naming the object, or `permission_denied` for a viewer who writes.
   */
  object(caller: Caller, workspaceId: string | undefined, need: Need, object: NamedObject): Promise<void>;
  /** Ids of all workspaces the caller may read; undefined means every workspace. */
  readable(caller: Caller): Promise<readonly string[] | undefined>;
}
