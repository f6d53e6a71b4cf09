/** The field to say something to a task, with files. A draft stays in this browser until it is sent. */

import type { Task } from "@mesh/proto";
import { type ReactNode, useRef, useState } from "react";

import { newKey } from "../../api/client.ts";
import { createUpload } from "../../api/documents.ts";
import { sendToTask } from "../../api/tasks.ts";
import { readKept, writeKept } from "../../app/kept.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { TextArea } from "../../ui/field.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { useTaskChange } from "./task-data.ts";
import style from "./task.module.css";
import { useText } from "./text.ts";

interface Attachment {
  readonly name: string;
  /** What the message names it by; undefined while it is on its way. */
  readonly upload: string | undefined;
}

const MAX_BYTES = 32 * 1024 * 1024;
const MAX_FILES = 20;
const MAX_CHARS = 100_000;

/** Files that go with the next message. */
function useAttachments(workspace: string) {
  const say = useText();
  const [files, setFiles] = useState<readonly Attachment[]>([]);
  const add = (list: Iterable<File>): void => {
    for (const file of [...list].slice(0, MAX_FILES)) {
      if (file.size > MAX_BYTES) {
        toast(say("tooLarge", { name: file.name }), { isError: true });
        continue;
      }
      const waiting: Attachment = { name: file.name, upload: undefined };
      setFiles((before) => [...before, waiting]);
      createUpload({ workspace, name: file.name }, { bytes: file }).then(
        ({ upload }) => setFiles((before) => before.map((one) => (one === waiting ? { ...one, upload } : one))),
        (thrown: unknown) => {
          setFiles((before) => before.filter((one) => one !== waiting));
          toastError(thrown);
        },
      );
    }
  };
  const remove = (file: Attachment): void => setFiles((before) => before.filter((one) => one !== file));
  return { files, add, remove, clear: () => setFiles([]) };
}

/** The composer of one task. */
export function MessageComposer({ task }: { readonly task: Task }): ReactNode {
  const say = useText();
  const draftKey = `draft.${task.id}`;
  const [text, setText] = useState(readKept(draftKey) ?? "");
  const picker = useRef<HTMLInputElement>(null);
  const key = useRef(newKey());
  const { files, add, remove, clear } = useAttachments(task.workspace_id);
  const change = (value: string): void => {
    setText(value);
    writeKept(draftKey, value === "" ? undefined : value);
  };
  const send = useTaskChange(
    (uploads: readonly string[]) =>
      sendToTask({ task: task.id, text: text.trim(), uploads }, { idempotencyKey: key.current }),
    {
      onSuccess: () => {
        key.current = newKey();
        change("");
        clear();
      },
    },
  );
  const isUploading = files.some(({ upload }) => upload === undefined);
  const isEmpty = text.trim() === "" && files.length === 0;
  const submit = (): void => {
    if (isEmpty || isUploading || send.isPending) return;
    send.mutate(files.flatMap(({ upload }) => upload ?? []));
  };
  return (
    <form
      className={style.composer}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        add(event.dataTransfer.files);
      }}
    >
      <AttachmentList files={files} onRemove={remove} />
      <TextArea
        label={say("reply")}
        hideLabel
        placeholder={say("reply")}
        hint={say("replyHint")}
        rows={2}
        maxLength={MAX_CHARS}
        value={text}
        onChange={(event) => change(event.target.value)}
        onPaste={(event) => {
          if (event.clipboardData.files.length > 0) add(event.clipboardData.files);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) submit();
        }}
      />
      <div className={style.row}>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={(event) => {
            add(event.target.files ?? []);
            event.target.value = "";
          }}
        />
        <IconButton icon="attach" label={say("attach")} onClick={() => picker.current?.click()} />
        <Button type="submit" kind="primary" icon="send" busy={send.isPending} disabled={isEmpty || isUploading}>
          {say("send")}
        </Button>
      </div>
    </form>
  );
}

function AttachmentList(props: {
  readonly files: readonly Attachment[];
  readonly onRemove: (file: Attachment) => void;
}): ReactNode {
  const say = useText();
  if (props.files.length === 0) return null;
  return (
    <ul className={style.files}>
      {props.files.map((file, index) => (
        <li key={index}>
          {file.upload === undefined ? say("uploading", { name: file.name }) : file.name}
          <IconButton icon="close" label={say("detach", { name: file.name })} onClick={() => props.onRemove(file)} />
        </li>
      ))}
    </ul>
  );
}
