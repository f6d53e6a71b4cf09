/** The one place where this package says "anything". */

/**
 * A JSON value whose shape only the script knows: what a model wrote, a tool answered or a person stored.
 *
 * `any` and not `unknown`, so that scripts can write `Process("models.user.Find", 1).name` as the guides do.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- see above; every other type of this package is built from this one
export type Value = any;

/** An object with such values. */
export type Values = Record<string, Value>;
