/** The built-in tool with which a model asks a person: nothing runs it, so the run waits for the answer. */

import type { AgentTool } from "@mesh/agent";

/** See the file comment. */
export const askUserTool: AgentTool = {
  name: "ask_user",
  description:
    "Ask the person you work for a question and wait for the answer, however long it takes. Ask when you cannot find out by yourself and a wrong guess would cost; offer choices where you see them.",
  parameters: {
    type: "object",
    properties: {
      question: { type: "string", minLength: 1, description: "The question, understandable on its own." },
      choices: {
        type: "array",
        items: { type: "string", minLength: 1, maxLength: 200 },
        maxItems: 20,
        description: "Answers to choose from; the person may still answer something else.",
      },
    },
    required: ["question"],
    additionalProperties: false,
  },
};
