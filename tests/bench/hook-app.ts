/** The app whose hooks are measured. */

/** Its files by path. */
export const HOOK_APP: Readonly<Record<string, string>> = {
  "assistants/empty/package.yao": '{"name":"Empty"}',
  "assistants/empty/src/index.ts": `
    export function Create(ctx: any, messages: any) { return null; }
    export function Next(ctx: any, payload: any) { return null; }`,
  // Each does its work as often as the input says, and tells how long the whole took.
  "assistants/loop/package.yao": '{"name":"Loop"}',
  "assistants/loop/src/index.ts": `
    const works = {
      nothing: (ctx, i) => i,
      context: (ctx, i) => { ctx.memory.context.Set("k", i); return ctx.memory.context.Get("k"); },
      crossing: (ctx) => ctx.BlockID(),
      incr: (ctx) => ctx.memory.user.Incr("n"),
    };
    export function Next(ctx: any, { messages }: any) {
      const [name, times] = messages.at(-1).content.split(" ");
      const work = works[name];
      for (let i = 0; i < 10; i += 1) work(ctx, i);
      const start = Date.now();
      for (let i = 0; i < Number(times); i += 1) work(ctx, i);
      return { data: Date.now() - start };
    }`,
};
