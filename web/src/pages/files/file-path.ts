/** Paths of a workspace: with slashes, relative to its directory. Pure. */

import type { File } from "@mesh/proto";

/** The last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** A name inside a directory; the top is the empty path. */
export function inside(directory: string, name: string): string {
  return directory === "" ? name : `${directory}/${name}`;
}

/** The directories above and including a path, with their names. */
export function crumbsOf(path: string): { readonly name: string; readonly path: string }[] {
  const parts = path.split("/").filter((part) => part !== "");
  return parts.map((name, index) => ({ name, path: parts.slice(0, index + 1).join("/") }));
}

/** A directory is the same place on every device: one entry with all of them. Directories come first. */
export function groupedOf(files: readonly File[]): {
  readonly directories: readonly { readonly path: string; readonly on: readonly File[] }[];
  readonly files: readonly File[];
} {
  const directories = new Map<string, File[]>();
  for (const file of files) {
    if (file.is_directory) directories.set(file.path, [...(directories.get(file.path) ?? []), file]);
  }
  return {
    directories: [...directories].map(([path, on]) => ({ path, on })),
    files: files.filter((file) => !file.is_directory),
  };
}

/** How a file can be looked at. HTML is text: it never runs. */
export function previewOf({
  path,
  media_type,
}: Pick<File, "path" | "media_type">): "markdown" | "image" | "text" | "none" {
  if (/\.(md|markdown)$/i.test(path) || media_type === "text/markdown") return "markdown";
  if (media_type.startsWith("image/")) return "image";
  if (media_type.startsWith("text/") || /[/+](json|xml|yaml|javascript|typescript)$/.test(media_type)) return "text";
  return TEXT_NAMES.test(path) ? "text" : "none";
}

const TEXT_NAMES =
  /\.(txt|log|csv|tsv|jsonl?|ya?ml|toml|ini|env|ts|tsx|js|mjs|py|go|rs|java|c|h|cpp|sh|sql|css|html?|xml|svg|diff)$/i;
