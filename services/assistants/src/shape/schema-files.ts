/** The files of docs/schemas: the JSON Schema of each kind of file, and a page that says how to use them. */

import { CONFIG_KINDS } from "./config-kind.ts";
import { jsonSchemaOf } from "./json-schema.ts";

/** Text by file name. */
export function schemaFiles(): ReadonlyMap<string, string> {
  const schemas = CONFIG_KINDS.map((kind) => {
    return [`${kind.name}.schema.json`, `${JSON.stringify(jsonSchemaOf(kind), undefined, 2)}\n`] as const;
  });
  return new Map([...schemas, ["README.md", page()]]);
}

function page(): string {
  const rows = CONFIG_KINDS.map(
    ({ name, glob, doc }) => `| \`${glob}\` | [${name}.schema.json](${name}.schema.json) | ${doc} |`,
  );
  return `# Schemas of an app's files

Written by \`npm run gen -w @mesh/assistants\`: do not edit. They come from the tables that \`yao app check\` checks with, so that an
editor underlines what the check refuses.

| Files | Schema | What they are |
| --- | --- | --- |
${rows.join("\n")}

A \`.yao\` file is JSON with comments and trailing commas. In VS Code, tell it so, and where the schemas are:

\`\`\`json
{
  "files.associations": { "*.yao": "jsonc" },
  "json.schemas": [{ "fileMatch": ["assistants/**/package.yao"], "url": "./docs/schemas/package.yao.schema.json" }],
  "yaml.schemas": { "./docs/schemas/prompts.yml.schema.json": ["**/prompts.yml", "**/prompts/**/*.yml"] }
}
\`\`\`

Or name the schema at the top of a file: \`"$schema": "…/package.yao.schema.json"\`.
`;
}
