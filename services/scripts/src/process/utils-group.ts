/** The group `utils`. */

import type { Clock } from "@mesh/kernel";

import type { Scope } from "./process-caller.ts";
import { functionGroup, type ProcessFunction, type ProcessGroup } from "./process-group.ts";
import { jwtFunctions } from "./utils-jwt.ts";
import { arrFunctions, mapFunctions, treeFunctions } from "./utils-list.ts";
import { type RandomBytes, strFunctions, urlFunctions } from "./utils-text.ts";
import { throwFunctions } from "./utils-throw.ts";
import { nowFunctions } from "./utils-time.ts";

const MAX_ENV_NAMES = 100;

/** What the functions of `utils` need. */
export interface UtilsDeps {
  readonly clock: Pick<Clock, "now">;
  readonly randomBytes: RandomBytes;
  /** A variable the workspace gives to its scripts; never the process's own environment. */
  readonly env: (scope: Scope, name: string) => string | undefined;
  readonly jwtSecret?: ((scope: Scope) => string | undefined) | undefined;
  /** IANA name; texts of `utils.now` are in it. */
  readonly timeZone?: string | undefined;
}

/** `utils.str utils.arr utils.map utils.tree utils.url utils.now utils.env utils.jwt utils.throw`. */
export function utilsGroup(deps: UtilsDeps): ProcessGroup {
  return functionGroup({
    ...strFunctions(deps.randomBytes),
    ...arrFunctions,
    ...mapFunctions,
    ...treeFunctions,
    ...urlFunctions,
    ...nowFunctions(deps.clock, deps.timeZone ?? "UTC"),
    ...envFunctions(deps.env),
    ...jwtFunctions({ clock: deps.clock, secret: deps.jwtSecret }),
    ...throwFunctions,
  });
}

// Reading only: a variable set by one run would be seen by others.
function envFunctions(env: UtilsDeps["env"]): Readonly<Record<string, ProcessFunction>> {
  return {
    "env.Get": (args, { scope }) => env(scope, args.text(0, "name")) ?? "",
    "env.GetMany": (args, { scope }) => {
      const names =
        args.values.length > 1 ? args.values.map((_, index) => args.text(index, "name")) : args.texts(0, "names");
      if (names.length > MAX_ENV_NAMES) args.refuse(`at most ${MAX_ENV_NAMES} names at once`);
      return Object.fromEntries(names.map((name) => [name, env(scope, name) ?? ""]));
    },
  };
}
