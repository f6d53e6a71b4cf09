/** What a file is: by its bytes first, since names and declared types are claims. Pure. */

import { extname } from "node:path";

/** A file that was loaded. */
export interface Attachment {
  readonly bytes: Uint8Array;
  /** For people and models; never a path to open. */
  readonly name: string;
  /** As declared; may be empty or wrong. */
  readonly mimeType: string;
}

/** A file that is looked at or listened to. */
export interface MediaKind {
  readonly kind: "image" | "audio";
  readonly mimeType: string;
}

/** A file that is read, or cannot be. */
export type DocumentKind =
  | { readonly kind: "pdf" | "docx" | "pptx" }
  /** `language`: for a fence, where it is code. */
  | { readonly kind: "text"; readonly text: string; readonly language?: string }
  | { readonly kind: "other"; readonly what: string };

/** What can be done with a file. */
export type FileKind = MediaKind | DocumentKind;

/** Whether a file is looked at or listened to. */
export function isMedia(kind: FileKind): kind is MediaKind {
  return kind.kind === "image" || kind.kind === "audio";
}

interface Magic {
  readonly at: number;
  readonly bytes: string;
  readonly mimeType: string;
}

const MAGIC: readonly Magic[] = [
  { at: 0, bytes: "\x89PNG\r\n\x1a\n", mimeType: "image/png" },
  { at: 0, bytes: "\xff\xd8\xff", mimeType: "image/jpeg" },
  { at: 0, bytes: "GIF8", mimeType: "image/gif" },
  { at: 8, bytes: "WEBP", mimeType: "image/webp" },
  { at: 8, bytes: "WAVE", mimeType: "audio/wav" },
  { at: 0, bytes: "ID3", mimeType: "audio/mpeg" },
  { at: 0, bytes: "OggS", mimeType: "audio/ogg" },
  { at: 0, bytes: "fLaC", mimeType: "audio/flac" },
  { at: 4, bytes: "ftypM4A", mimeType: "audio/mp4" },
];

// Formats whose first bytes say little: what the file claims to be decides.
const AUDIO_NAMES: Readonly<Record<string, string>> = {
  ".mp3": "audio/mpeg",
  ".m4a": "audio/mp4",
  ".aac": "audio/aac",
  ".weba": "audio/webm",
  ".pcm": "audio/pcm",
};

const LANGUAGES: Readonly<Record<string, string>> = {
  ".ts": "typescript",
  ".tsx": "tsx",
  ".js": "javascript",
  ".mjs": "javascript",
  ".jsx": "jsx",
  ".py": "python",
  ".go": "go",
  ".rs": "rust",
  ".java": "java",
  ".kt": "kotlin",
  ".swift": "swift",
  ".c": "c",
  ".h": "c",
  ".cpp": "cpp",
  ".cs": "csharp",
  ".rb": "ruby",
  ".php": "php",
  ".sh": "bash",
  ".sql": "sql",
  ".json": "json",
  ".yao": "json",
  ".yml": "yaml",
  ".yaml": "yaml",
  ".toml": "toml",
  ".xml": "xml",
  ".html": "html",
  ".css": "css",
  ".svg": "xml",
};

/** The kind of a file. */
export function kindOf({ bytes, name, mimeType }: Attachment): FileKind {
  const head = Buffer.from(bytes.subarray(0, 32)).toString("latin1");
  const magic = MAGIC.find((each) => head.startsWith(each.bytes, each.at));
  if (magic !== undefined) {
    return { kind: magic.mimeType.startsWith("image/") ? "image" : "audio", mimeType: magic.mimeType };
  }
  if (head.startsWith("%PDF-")) return { kind: "pdf" };
  if (head.startsWith("PK\x03\x04")) return officeKind(bytes);
  const extension = extname(name).toLowerCase();
  const audio = AUDIO_NAMES[extension] ?? (mimeType.startsWith("audio/") ? mimeType : undefined);
  const text = decodedText(bytes);
  if (audio !== undefined && text === undefined) return { kind: "audio", mimeType: audio };
  if (text === undefined) return { kind: "other", what: otherWords(mimeType) };
  const language = LANGUAGES[extension];
  return { kind: "text", text, ...(language === undefined ? {} : { language }) };
}

/** Office files are archives; the names of what they hold stand in them uncompressed. */
function officeKind(bytes: Uint8Array): FileKind {
  const archive = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (archive.includes("word/document.xml")) return { kind: "docx" };
  return archive.includes("ppt/slides/") ? { kind: "pptx" } : { kind: "other", what: "an archive" };
}

function otherWords(mimeType: string): string {
  if (mimeType.startsWith("image/")) return `an image of the type ${mimeType}`;
  return /^[\w.+-]+\/[\w.+-]+$/.test(mimeType) ? `of the type ${mimeType}` : "of an unknown type";
}

function decodedText(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes;
  const encoding =
    first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}
