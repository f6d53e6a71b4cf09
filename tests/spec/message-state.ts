/** What a message was after each of its pieces, as its reader puts them together; written apart from the product's own. */

import type { JsonObject } from "@mesh/kernel";
import type { OutputMessage } from "@mesh/runtime";

type Fields = Record<string, unknown>;

/** The props of every message after each of its pieces, in the order of the stream. */
export function statesOf(messages: readonly OutputMessage[]): readonly Fields[] {
  const current = new Map<string, Fields>();
  const states: Fields[] = [];
  for (const message of messages) {
    const { message_id: id, type, props } = message;
    if (id === undefined || type === "event") continue;
    const before = current.get(id);
    const next = message.delta === true && before !== undefined ? changed(before, message) : { ...props };
    current.set(id, next);
    states.push(structuredClone(next));
  }
  return states;
}

function changed(
  before: Fields,
  { delta_action: action = "append", delta_path: path = "", props }: OutputMessage,
): Fields {
  if (action === "replace") return { ...props };
  const steps = path === "" && action === "append" ? ["content"] : path.split(".").filter((step) => step !== "");
  const next = structuredClone(before);
  const last = steps.at(-1);
  const given = steps.reduce<unknown>((value, step) => (value as Fields)[step], props);
  if (last === undefined) return Object.assign(next, given);
  let holder = next;
  for (const step of steps.slice(0, -1)) holder = (holder[step] ??= {}) as Fields;
  if (action === "append") holder[last] = `${(holder[last] as string | undefined) ?? ""}${given as string}`;
  else if (action === "merge") holder[last] = { ...(holder[last] as JsonObject | undefined), ...(given as JsonObject) };
  else holder[last] = given;
  return next;
}

/** The states that comments of a block promise: `// Final: "…"`, `// Result: props = {…}`, `// Result: props.a = …`. */
export function promisedStates(code: string): readonly Fields[] {
  const lines = code.matchAll(/^ *\/\/ (?:Final(?: content)?|Result): (?:props(?:\.(\w+))? = )?(.+)$/gm);
  return [...lines].map(([, field = "content", value = ""]) => {
    const parsed = JSON.parse(value.replaceAll(/(\w+):/g, '"$1":')) as unknown;
    return value.startsWith("{") && field === "content" ? (parsed as Fields) : { [field]: parsed };
  });
}
