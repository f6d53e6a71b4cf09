import { agent, Process } from "@yao/runtime";

/** Before the model is asked: counts the visit, and shows that as a step of the trace. */
export function Create(ctx: agent.Context, messages: agent.Message[]): agent.Create {
  const visit = ctx.memory.user.Incr("visits");
  ctx.trace.Add({ visit }, { label: $L("steps.welcome"), type: "memory", icon: "history" }).Complete();
  ctx.memory.context.Set("visit", visit);
  return { messages };
}

/** After the model and its tools: says what became of the notes. */
export function Next(ctx: agent.Context, payload: agent.Payload): agent.Next {
  const { tools = [], error } = payload;
  if (error) return null;
  const visit = ctx.memory.context.Get("visit");
  const notes = Process("models.agents.notebook.note.Count", {});
  for (const { tool, result, error: problem } of tools) {
    if (problem) ctx.Send(`${$L("said.failed")} ${problem}`);
    else if (tool === "add") ctx.Send(`${$L("said.noted")} ${result.text}`);
    else ctx.Send(result.map((note) => `- ${note.text}`).join("\n") || $L("said.none"));
  }
  return { data: { visit, notes } };
}
