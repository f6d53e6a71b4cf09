/** The language a caller asks for by `Accept-Language` (RFC 9110, 12.5.4). Pure. */

const MAX_RANGES = 32;
const MAX_HEADER_CHARS = 2000;
// Letters, then parts of letters and digits, as BCP 47 has it; `*` names no language.
const RANGE = /^[a-z]{1,8}(?:-[a-z0-9]{1,8}){0,7}$/;
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/**
 * The language that is wanted most, in lower case such as `de-at`; of equally wanted ones the first. Undefined when none is
 * named. What cannot be read is passed over: nobody is refused for a header a browser made.
 */
export function preferredLanguage(header: string): string | undefined {
  let best: { readonly language: string; readonly weight: number } | undefined;
  for (const range of header.slice(0, MAX_HEADER_CHARS).split(",", MAX_RANGES)) {
    const [language = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const weight = weightOf(parameters);
    if (weight > (best?.weight ?? 0) && RANGE.test(language)) best = { language, weight };
  }
  return best?.language;
}

/** 0: not wanted, or not readable. */
function weightOf(parameters: readonly string[]): number {
  if (parameters.length === 0) return 1;
  const [name, value = ""] = (parameters[0] ?? "").split("=").map((part) => part.trim());
  return parameters.length === 1 && name === "q" && WEIGHT.test(value) ? Number(value) : 0;
}
