/** What the settings of a whole app may hold: agent/agent.yml and agent/kb.yml. */

import { USES } from "./package-shape.ts";
import { any, anyMap, count, either, type Fields, field, object, type ObjectShape, openObject, text } from "./shape.ts";

const number = { kind: "number" } as const;

function fieldsOf(names: readonly string[], doc: (name: string) => string): Fields {
  return Object.fromEntries(names.map((name) => [name, field(text, doc(name))]));
}

/** The file agent/agent.yml. */
export const AGENT_SHAPE: ObjectShape = openObject({
  uses: field(
    openObject({
      default: field(text, "The assistant of a chat that names none."),
      title: field(text, "The assistant that gives chats a title."),
      prompt: field(text, "The assistant that writes prompts."),
      ...USES,
      ...fieldsOf(
        ["inspiration", "goals", "tasks", "delivery", "learning", "host", "validation", "robot_prompt"],
        (name) => `The assistant for ${name} of robots.`,
      ),
    }),
    "Who does what, unless an assistant says otherwise.",
  ),
  system: field(
    { kind: "map", of: text },
    "Connectors by role: default, light, vision, audio, heavy; an assistant names one with use::role.",
  ),
  store: field(
    openObject({
      connector: field(text, "Kept for old files."),
      max_size: field(count, "How many messages of a chat the model sees: 20 unless stated."),
      ttl: field(either(text, number), "How long chats are kept."),
      expiration: field(either(text, number), "How long chats are kept, such as 90d."),
    }),
    "How chats are kept.",
  ),
  cache: field(text, "Kept for old files."),
  runner: field(any, "The program that does the work where an assistant names none."),
});

/** The file agent/kb.yml. */
export const KNOWLEDGE_SHAPE: ObjectShape = openObject({
  chat: field(anyMap, "How the knowledge of a chat is kept."),
});

/** One prompt. */
export const PROMPT_SHAPE: ObjectShape = object({
  role: { shape: { kind: "word", words: ["system", "user", "assistant"] }, doc: "Who speaks.", isRequired: true },
  content: {
    shape: text,
    doc: "What is said; $SYS, $ENV, $CTX, {{ key }} and lines @assets/file.md are replaced.",
    isRequired: true,
  },
  name: field(text, "Name of the speaker."),
});
