/** The path of a file in its app, of a source as esbuild names it: `app:src/index.ts`. */
export function appPath(source: string): string {
  return source.startsWith("app:") ? source.slice("app:".length) : source;
}
