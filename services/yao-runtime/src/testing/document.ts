/** Blocks of code of the documents, and how each becomes a file that can be checked. Pure. */

/** A fenced block. */
export interface Block {
  /** `hooks-3`: the document and the position among its blocks. */
  readonly name: string;
  readonly language: string;
  readonly code: string;
}

/** All blocks of TypeScript or JavaScript of a document; of one that has lost its fences, the hooks in it. */
export function blocksOf(document: string, markdown: string): Block[] {
  if (!markdown.includes("\n```")) {
    const hooks = [...markdown.matchAll(/^function (?:Create|Next)\(ctx, \w+\) \{\n[\s\S]*?^\}/gm)];
    return hooks.map(([code], index) => ({ name: `${document}-${index + 1}`, language: "javascript", code }));
  }
  return [...markdown.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)]
    .map(([, language = "", code = ""], index) => ({ name: `${document}-${index + 1}`, language, code }))
    .filter(({ language }) => ["typescript", "javascript", "ts", "js"].includes(language));
}

/** The examples in the comments of a source file. */
export function examplesOf(file: string, source: string): Block[] {
  return [...source.matchAll(/@example\n([\s\S]*?)\*\//g)].map(([, text = ""], index) => ({
    name: `${file}-${index + 1}`,
    language: "typescript",
    code: text.replaceAll(/^ *\* ?/gm, ""),
  }));
}

/** Whether a block only describes types. */
export function isDescription({ code }: Block): boolean {
  return /^\s*(?:\/\/[^\n]*\n\s*)*interface /.test(code) && !/^(?:export )?(?:async )?function /m.test(code);
}

/** The block as a module: what the documents leave to the reader is put in, and loose statements become a function. */
export function moduleOf({ code }: Block): string {
  const source = code
    // The documents' way of saying "and so on".
    .replaceAll("[...]", "[] as any[]")
    .replaceAll("{...}", "{} as any")
    // A signature without a body.
    .replaceAll(/^function (\w+)\(([^{]*)\): ([^{;]*);$/gm, "declare function $1($2): $3;")
    // JavaScript hooks have no types; these are what they would be.
    .replaceAll(
      /function (Create|Next)\(ctx, (messages|payload)\)/g,
      (_all, hook: string, second: string) =>
        `function ${hook}(ctx: agent.Context, ${second}: agent.${second === "messages" ? "Message[]" : "Payload"}): agent.${hook}`,
    )
    // Blocks show alternatives that declare the same name again.
    .replaceAll(/^(\s*)(?:const|let) /gm, "$1var ");
  if (/^(?:import|export|declare|async function|function) /m.test(source)) return `${source}\nexport {};\n`;
  return `export function block(ctx: agent.Context, messages: agent.Message[], payload: agent.Payload) {\n${source}\n}\n`;
}

/** The interfaces of a block, as a module that exports them. */
export function interfacesOf({ code }: Block): { readonly names: readonly string[]; readonly source: string } {
  const interfaces = [...code.matchAll(/^interface (\w+) \{\n[\s\S]*?^\}/gm)];
  // What a function is told about a stream is a chunk; the documents call that, too, a Message.
  const source = interfaces
    .map(([text]) => `export ${text}`.replaceAll("(msg: Message)", "(msg: agent.Chunk)"))
    .join("\n");
  return { names: interfaces.map((match) => match[1] ?? ""), source };
}
