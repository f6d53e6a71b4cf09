/** Stands in for what only a run has, so that a script that is started elsewhere says what is wrong. */

import type { Value } from "./value.ts";

/** Something that throws as soon as it is used: called, constructed, or asked for a member. Its type is what it stands for. */
export function outside(name: string): Value {
  const fail = (): never => {
    throw new Error(
      `${name} exists only inside Yao Mesh: run this as a hook, a script or a test of an assistant (yao run, yao agent eval)`,
    );
  };
  // Symbols are asked for by whatever prints or inspects a value; that is no use of it.
  const get = (_target: object, key: string | symbol): unknown => (typeof key === "symbol" ? undefined : fail());
  // Only a `function` can be both called and constructed.
  const target = function outsideOfRun(): void {};
  return new Proxy(target, { apply: fail, construct: fail, get });
}
