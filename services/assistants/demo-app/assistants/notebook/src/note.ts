import { agent, Process } from "@yao/runtime";

/** The tool `add`: its arguments as the schema has them, then the context of the agent that called it. */
export function Add(text: string, ctx: agent.Context): { id: number; text: string } {
  const visit = ctx.memory.user.Get("visits") ?? 0;
  return { id: Process("models.agents.notebook.note.Create", { text, visit }), text };
}
