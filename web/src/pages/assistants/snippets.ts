/** Programs that talk to an assistant, ready to be copied. Pure. */

/** Where and with what an app connects. */
export interface Connection {
  readonly baseUrl: string;
  readonly model: string;
  readonly token: string;
}

/** Languages of the snippets. */
export const LANGUAGES = ["curl", "python", "javascript"] as const;

/** The snippet in a language. */
export function snippetOf(language: (typeof LANGUAGES)[number], { baseUrl, model, token }: Connection): string {
  const [url, key, name] = [baseUrl, token, model].map((text) => JSON.stringify(text));
  switch (language) {
    case "curl": {
      const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] });
      return [
        `curl ${quoted(`${baseUrl}/chat/completions`)} \\`,
        `  -H ${quoted(`Authorization: Bearer ${token}`)} \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  -d ${quoted(body)}`,
      ].join("\n");
    }
    case "python":
      return [
        "from openai import OpenAI",
        "",
        `client = OpenAI(base_url=${url}, api_key=${key})`,
        "answer = client.chat.completions.create(",
        `    model=${name},`,
        '    messages=[{"role": "user", "content": "Hello"}],',
        ")",
        "print(answer.choices[0].message.content)",
      ].join("\n");
    case "javascript":
      return [
        'import OpenAI from "openai";',
        "",
        `const client = new OpenAI({ baseURL: ${url}, apiKey: ${key} });`,
        "const answer = await client.chat.completions.create({",
        `  model: ${name},`,
        '  messages: [{ role: "user", content: "Hello" }],',
        "});",
        "console.log(answer.choices[0].message.content);",
      ].join("\n");
  }
}

/** A word of a POSIX shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
