/** A look into a file. What people and programs wrote is shown as text or image and never runs. */

import type { File } from "@mesh/proto";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";

import { ApiError, readProblem } from "../../api/error.ts";
import { fileContentUrl } from "../../api/files.ts";
import { useLocale } from "../../i18n/locale.ts";
import { Markdown } from "../../markdown/markdown.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Code, Note } from "../../ui/list.tsx";
import { Loaded, Skeleton } from "../../ui/state.tsx";
import { bytesText } from "../../ui/time.tsx";
import { Whereabouts } from "../documents/document-view.tsx";
import { nameOf, previewOf } from "./file-path.ts";
import style from "./files.module.css";
import { useText } from "./text.ts";

const MAX_TEXT_BYTES = 512 * 1024;
const MAX_IMAGE_BYTES = 20 * 1024 * 1024;

interface PreviewProps {
  readonly workspace: string;
  readonly file: File;
}

/** The dialog; `children` are the actions. */
export function PreviewDialog(
  props: PreviewProps & { readonly onClose: () => void; readonly children: ReactNode },
): ReactNode {
  const locale = useLocale((state) => state.locale);
  const { file } = props;
  return (
    <Dialog wide title={nameOf(file.path)} onClose={props.onClose}>
      <Note>
        {file.path} · {bytesText(file.size_bytes, locale)} ·{" "}
        <Whereabouts node={file.node} isOnline={file.online} since={file.offline_since} />
      </Note>
      {props.children}
      <Preview workspace={props.workspace} file={file} />
    </Dialog>
  );
}

function Preview({ workspace, file }: PreviewProps): ReactNode {
  const say = useText();
  const look = previewOf(file);
  if (!file.online) return <Note>{say("off")}</Note>;
  if (look === "none") return <Note>{say("noPreview")}</Note>;
  if (look !== "image") return <TextPreview workspace={workspace} file={file} isMarkdown={look === "markdown"} />;
  if (file.size_bytes > MAX_IMAGE_BYTES) return <Note>{say("tooLarge")}</Note>;
  return <ImagePreview workspace={workspace} file={file} />;
}

async function load({ workspace, file }: PreviewProps, maxBytes: number): Promise<Response> {
  const url = fileContentUrl({ workspace, path: file.path, node: file.node_id });
  // An empty file has no range.
  const headers: Record<string, string> = file.size_bytes > maxBytes ? { range: `bytes=0-${maxBytes - 1}` } : {};
  let response: Response;
  try {
    response = await fetch(url, { headers, credentials: "same-origin" });
  } catch {
    throw new ApiError({ status: 0, code: "unavailable", message: "the server cannot be reached" });
  }
  if (!response.ok) throw await readProblem(response);
  return response;
}

function keyOf({ workspace, file }: PreviewProps): readonly string[] {
  return ["file-content", workspace, file.node_id, file.path, file.modified_at];
}

function TextPreview(props: PreviewProps & { readonly isMarkdown: boolean }): ReactNode {
  const say = useText();
  const locale = useLocale((state) => state.locale);
  const { file } = props;
  const text = useQuery({ queryKey: keyOf(props), queryFn: async () => (await load(props, MAX_TEXT_BYTES)).text() });
  return (
    <Loaded query={text} lines={6}>
      {(content) => (
        <>
          {props.isMarkdown ? (
            <Markdown text={content} />
          ) : (
            <Code label={say("content", { name: nameOf(file.path) })}>{content}</Code>
          )}
          {file.size_bytes > MAX_TEXT_BYTES && <Note>{say("cut", { size: bytesText(MAX_TEXT_BYTES, locale) })}</Note>}
        </>
      )}
    </Loaded>
  );
}

function ImagePreview(props: PreviewProps): ReactNode {
  const blob = useQuery({
    queryKey: keyOf(props),
    queryFn: async () => {
      // The type that the index knows: the server hands everything out as a download.
      const bytes = await (await load(props, MAX_IMAGE_BYTES)).arrayBuffer();
      return new Blob([bytes], { type: props.file.media_type });
    },
    gcTime: 0,
  });
  return <Loaded query={blob}>{(image) => <BlobImage blob={image} name={nameOf(props.file.path)} />}</Loaded>;
}

function BlobImage({ blob, name }: { readonly blob: Blob; readonly name: string }): ReactNode {
  const say = useText();
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url === undefined ? <Skeleton /> : <img className={style.image} src={url} alt={say("image", { name })} />;
}
