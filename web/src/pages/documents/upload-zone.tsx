/** Takes files by button, drop or paste. */

import { type ReactNode, useEffect, useRef, useState } from "react";

import { classes } from "../../ui/class.ts";
import { Button } from "../../ui/button.tsx";
import style from "./documents.module.css";
import { useText } from "./text.ts";

/** The zone; pasting works anywhere on the page, except into a field. */
export function UploadZone({
  onFiles,
  busyWith,
}: {
  readonly onFiles: (files: readonly File[]) => void;
  /** Name of the file that is being sent. */
  readonly busyWith: string | undefined;
}): ReactNode {
  const say = useText();
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const latest = useRef(onFiles);
  latest.current = onFiles;
  useEffect(() => {
    const paste = (event: ClipboardEvent): void => {
      const files = [...(event.clipboardData?.files ?? [])];
      if (files.length > 0) latest.current(files);
    };
    document.addEventListener("paste", paste);
    return () => document.removeEventListener("paste", paste);
  }, []);
  return (
    <div
      className={classes(style.drop, isOver && style.over)}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onFiles([...event.dataTransfer.files]);
      }}
    >
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={say("uploadFiles")}
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])]);
          // The same file may be chosen again.
          event.target.value = "";
        }}
      />
      <Button icon="upload" busy={busyWith !== undefined} onClick={() => input.current?.click()}>
        {say("upload")}
      </Button>
      <span role="status">{busyWith === undefined ? say("drop") : say("uploading", { name: busyWith })}</span>
    </div>
  );
}
