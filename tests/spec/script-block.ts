/**
 * Blocks of JavaScript and TypeScript as programs that can be run: what the documents leave to the reader is put in, loose statements
 * become a hook, alternatives that declare the same names again become programs or scopes of their own.
 */

/** What a block is. */
export type BlockKind = "hooks" | "statements" | "module" | "types" | "signature";

/** Tells what a block of code is. */
export function kindOf(code: string): BlockKind {
  if (/^export function /m.test(code)) return "module";
  if (/^function (?:Create|Next)\([^{]*\{\n/m.test(code)) return "hooks";
  if (/^function (?:Create|Next)\(/m.test(code)) return "signature";
  const rest = paragraphsOf(code).filter((each) => !/^(?:\/\/.*\n)*interface /.test(each));
  return rest.length === 0 ? "types" : "statements";
}

/** Hooks of a block as programs: a hook that is defined again begins the next one. */
export function hookPrograms(code: string): readonly string[] {
  const programs: { names: Set<string>; parts: string[] }[] = [];
  for (const part of paragraphsOf(filledIn(code))) {
    const names = namesIn(part);
    const last = programs.at(-1);
    if (last === undefined || names.some((name) => last.names.has(name))) {
      programs.push({ names: new Set(names), parts: [part] });
      continue;
    }
    for (const name of names) last.names.add(name);
    last.parts.push(part);
  }
  return programs
    .map(({ parts }) => parts.join("\n\n"))
    .filter((program) => /^function /m.test(program))
    .map((program) => [program, ...standIns(program, FUNCTIONS), STATED].join("\n\n"));
}

/** What comes before and after the statements of a block. */
export interface Around {
  /** Puts there what the block takes for granted. */
  readonly before?: string;
  /** Looks at what the block did, with `stated(actual, expected)`. */
  readonly after?: string;
}

/** Loose statements as a Next hook that says `ran` when all of them have. */
export function statementProgram(code: string, { before = "", after = "" }: Around): string {
  const scopes: { names: Set<string>; parts: string[] }[] = [{ names: new Set(), parts: [] }];
  for (const part of paragraphsOf(filledIn(code))) {
    const names = namesIn(part);
    let scope = scopes.at(-1);
    if (scope === undefined || names.some((name) => scope?.names.has(name) === true)) {
      scope = { names: new Set(), parts: [] };
      scopes.push(scope);
    }
    for (const name of names) scope.names.add(name);
    scope.parts.push(part);
  }
  const body = scopes.map(({ parts }) => `{\n${parts.join("\n\n")}`).join("\n\n");
  return [
    "function Next(ctx, payload) {",
    "const { messages } = payload;",
    ...standIns(`${before}\n${code}`, VALUES),
    before,
    body,
    after,
    "}".repeat(scopes.length),
    'return { data: "ran" };',
    "}",
    ...standIns(code, FUNCTIONS),
    STATED,
  ].join("\n");
}

/** Types as a Next hook that has every member they promise looked for in a value of each. */
export function typeProgram(code: string, values: Readonly<Record<string, string>>): string {
  const checks = [...code.matchAll(/^interface (\w+) \{\n([\s\S]*?)^\}/gm)].flatMap(([, name = "", members = ""]) => {
    const value = values[name];
    if (value === undefined) return [];
    const promised = [...members.matchAll(/^ {2}(\w+)(?:: |\()/gm)].map(([, member = ""]) => member);
    return promised.map(
      (member) =>
        `stated([${JSON.stringify(`${name}.${member}`)}, ${JSON.stringify(member)} in (${value})], [${JSON.stringify(`${name}.${member}`)}, true]);`,
    );
  });
  return `${code}\nfunction Next(ctx, payload) {\n${checks.join("\n")}\nreturn { data: "ran" };\n}\n${STATED}`;
}

/** The names that statements of a text at its top level declare. */
function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/^(?:const|let|function|interface) (\w+)/gm)].map(([, name = ""]) => name);
}

/** Statements that belong together: what stands between empty lines outside of all brackets. */
function paragraphsOf(code: string): readonly string[] {
  const parts: string[][] = [];
  let isOpen = false;
  for (const line of code.trimEnd().split("\n")) {
    const isInside = /^[\s})\]]|^ \*/.test(line);
    if (line === "") {
      isOpen = false;
      // Kept inside of a function or an object, whose next line is indented.
      parts.at(-1)?.push("");
    } else if (isOpen || (isInside && parts.length > 0)) {
      parts.at(-1)?.push(line);
      isOpen = true;
    } else {
      parts.push([line]);
      isOpen = true;
    }
  }
  return parts.map((lines) => lines.join("\n").trimEnd());
}

/** Puts in what the documents leave out, and makes values that stand in their comments checks. */
function filledIn(code: string): string {
  return code
    .replaceAll("messages: [...]", 'messages: [{ role: "user", content: "Hi" }]')
    .replaceAll("[...]", '["and", "so", "on"]')
    .replaceAll('Process("llms.chat", {...})', 'Process("llms.chat", { connector: "gpt-4o", messages })')
    .replaceAll(/^( *)console\.log\((.+)\); *\/\/ ("[^"]*"|\d+).*$/gm, "$&\n$1stated($2, $3);")
    .replaceAll(/^( *)const (\w+) = .+; *\/\/ ("[^"]*"|\d+).*$/gm, "$&\n$1stated($2, $3);");
}

/** Tells the test a value and what it should be, as a line of the run's log. */
const STATED = `function stated(actual, expected) { log.Info("stated " + JSON.stringify([actual, expected])); }`;

/** Functions that the documents call and leave to the reader. */
const FUNCTIONS: Readonly<Record<string, string>> = {
  analyzeData: "function analyzeData() { return { count: 3 }; }",
  callLLM: 'function callLLM() { return "A thought"; }',
  doStep1: "function doStep1() {}",
  doStep2: "function doStep2() {}",
  doStep3: "function doStep3() {}",
  extractTopic: "function extractTopic(text) { return text.split(' ')[0]; }",
  fetchData: "function fetchData() { return [1, 2]; }",
  fetchExternalData: 'function fetchExternalData() { return "From outside"; }',
  processData: "function processData() { return { ok: true }; }",
  search_results: 'const search_results = [{ title: "One" }, { title: "Two" }];',
  shouldDelegate: 'function shouldDelegate(messages) { return messages[0].content === "hand over"; }',
};

/** Values that statements of the documents use and leave to the reader. */
const VALUES: Readonly<Record<string, string>> = {
  data: 'const data = { some: "data" };',
  message: 'const message = { type: "text", props: { content: "Hi" } };',
  msg1: 'const msg1 = { role: "user", content: "One" };',
  msg2: 'const msg2 = { role: "assistant", content: "Two" };',
  newMsg: 'const newMsg = { role: "system", content: "New" };',
  node: 'const node = ctx.trace.Add({ of: "the document" }, { label: "Node" });',
  options: "const options = {};",
  search_node: 'const search_node = ctx.trace.Add({ of: "the document" }, { label: "Search" });',
  value: "const value = 42;",
};

/** What of `known` the code uses and does not declare. */
function standIns(code: string, known: Readonly<Record<string, string>>): readonly string[] {
  const plain = code.replaceAll(/"(?:[^"\\]|\\.)*"|\/\/.*$|\/\*[\s\S]*?\*\//gm, '""');
  return Object.entries(known).flatMap(([name, source]) => {
    const isUsed = new RegExp(`(?<![.\\w])${name}\\b(?!\\s*:)`).test(plain);
    const isDeclared = new RegExp(`(?:const|function) ${name}\\b`).test(plain);
    return isUsed && !isDeclared ? [source] : [];
  });
}
