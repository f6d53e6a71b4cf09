/**
 * Bounded building blocks of request schemas. Every field of every request has a bound here or in the schema that uses it.
 *
 * Proto3 cannot tell an empty string from an absent one: an optional text field accepts "" and treats it as absent.
 */

import { z } from "zod";

// PostgreSQL stores no NUL in text or jsonb; refused here, so that it is an answer and not a failed statement.
// oxlint-disable-next-line no-control-regex
const NO_NUL = /^[^\u0000]*$/;

/** Text that must be given. */
export function required(max: number): z.ZodString {
  return z.string().min(1, "is required").max(max, `is longer than ${max} characters`).regex(NO_NUL, "holds a NUL");
}

/** Text that may be absent or empty. */
export function optionalText(max: number): z.ZodOptional<z.ZodString> {
  return z.string().max(max, `is longer than ${max} characters`).regex(NO_NUL, "holds a NUL").optional();
}

/** A whole number in a range that may be absent; 0 must be in the range, since it is what absent means. */
export function optionalInt(min: number, max: number): z.ZodOptional<z.ZodInt> {
  return z
    .int(`must be a whole number from ${min} to ${max}`)
    .min(min, `is less than ${min}`)
    .max(max, `is more than ${max}`)
    .optional();
}

/** An id or a name in a path. */
export const reference: z.ZodString = required(200);

/** A name that people type and that stands in addresses. */
export const slug: z.ZodString = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "must be 1 to 63 lower-case letters, digits and dashes");

/** One of a few words, or absent. */
export function optionalWord(...words: readonly string[]): z.ZodOptional<z.ZodEnum<Record<string, string>>> {
  return z.enum(["", ...words], `must be one of: ${words.join(", ")}`).optional();
}

/** A list of short texts. */
export function texts(maxItems: number, maxLength: number): z.ZodOptional<z.ZodArray<z.ZodString>> {
  return z.array(required(maxLength)).max(maxItems, `has more than ${maxItems} entries`).optional();
}

const LABEL_KEY = /^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/;
const MAX_LABELS = 32;

/** Labels: keys and values of 1 to 63 letters, digits, dots, dashes and underscores; keys may hold slashes. */
export const labels: z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodString>> = z
  .record(
    z
      .string()
      .regex(LABEL_KEY, "is not a label name: use 1 to 63 letters, digits, dots, dashes, underscores or slashes"),
    z.string().regex(LABEL_VALUE, "is not a label value: use up to 63 letters, digits, dots, dashes or underscores"),
  )
  .refine((value) => Object.keys(value).length <= MAX_LABELS, `has more than ${MAX_LABELS} labels`)
  .optional();

const MAX_STRUCT_CHARS = 65_536;
const MAX_STRUCT_DEPTH = 32;

/** A JSON object of at most that many characters, 32 levels deep. */
export function structUpTo(maxChars: number): z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodUnknown>> {
  return z
    .record(z.string(), z.unknown())
    .superRefine((value, context) => {
      const problem = jsonProblem(value, maxChars);
      if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
    })
    .optional();
}

/** A JSON object of at most 64 KB, 32 levels deep. */
export const struct: z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodUnknown>> = structUpTo(MAX_STRUCT_CHARS);

/** What is wrong with a JSON value: too much, too deep or a NUL. Walks with its own stack: its depth must not become ours. */
export function jsonProblem(root: unknown, maxChars: number): string | undefined {
  const rest: { readonly value: unknown; readonly depth: number }[] = [{ value: root, depth: 0 }];
  let chars = 0;
  for (let item = rest.pop(); item !== undefined; item = rest.pop()) {
    const { value, depth } = item;
    if (depth > MAX_STRUCT_DEPTH) return `is nested deeper than ${MAX_STRUCT_DEPTH} levels`;
    if (typeof value === "string") {
      if (!NO_NUL.test(value)) return "holds a NUL";
      chars += value.length;
    } else if (typeof value === "object" && value !== null) {
      for (const [key, inner] of Object.entries(value)) {
        if (!NO_NUL.test(key)) return "holds a NUL";
        chars += key.length;
        rest.push({ value: inner, depth: depth + 1 });
      }
    }
    chars += 4;
    if (chars > maxChars) return `is larger than ${maxChars / 1024} KB`;
  }
  return undefined;
}
