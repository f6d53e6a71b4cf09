/** A file in the list, with what can be done to it. */

import type { File, Node } from "@mesh/proto";
import { type ReactNode, useState } from "react";

import { fileContentUrl } from "../../api/files.ts";
import { useLocale } from "../../i18n/locale.ts";
import { Icon } from "../../ui/icon.tsx";
import { Line, Main, Note, Row } from "../../ui/list.tsx";
import { Menu } from "../../ui/menu.tsx";
import { bytesText, Time } from "../../ui/time.tsx";
import { Whereabouts } from "../documents/document-view.tsx";
import { CopyDialog, DeleteDialog, RenameDialog } from "./file-dialogs.tsx";
import { nameOf } from "./file-path.ts";
import style from "./files.module.css";
import { PreviewDialog } from "./preview-dialog.tsx";
import { useText } from "./text.ts";

interface FileRowProps {
  readonly workspace: string;
  readonly file: File;
  readonly nodes: readonly Node[];
  /** Found by a search: the whole path tells which it is. */
  readonly isSearch: boolean;
  readonly onDone: () => void;
}

/** The row. */
export function FileRow({ workspace, file, nodes, isSearch, onDone }: FileRowProps): ReactNode {
  const say = useText();
  const locale = useLocale((state) => state.locale);
  const [open, setOpen] = useState<"preview" | "rename" | "copy" | "delete">();
  const close = (): void => setOpen(undefined);
  const name = nameOf(file.path);
  const disabled = !file.online;
  const dialog = { workspace, file, onClose: close, onDone };
  return (
    <Row>
      <Main>
        <button type="button" className={style.name} onClick={() => setOpen("preview")}>
          <Icon name="file" /> {isSearch ? file.path : name}
        </button>
        <Note>
          {bytesText(file.size_bytes, locale)} · {say("modified")} <Time at={file.modified_at} />
        </Note>
      </Main>
      <Note>
        <Whereabouts node={file.node} isOnline={file.online} since={file.offline_since} />
      </Note>
      <Menu
        label={say("actions", { name: `${name}, ${file.node}` })}
        items={[
          { label: say("rename"), icon: "edit", disabled, run: () => setOpen("rename") },
          { label: say("copy"), icon: "copy", disabled, run: () => setOpen("copy") },
          { label: say("remove"), icon: "trash", danger: true, disabled, run: () => setOpen("delete") },
        ]}
      />
      {open === "preview" && (
        <PreviewDialog workspace={workspace} file={file} onClose={close}>
          {file.online && (
            <Line>
              <a href={fileContentUrl({ workspace, path: file.path, node: file.node_id })} download={name}>
                {say("download")}
              </a>
            </Line>
          )}
        </PreviewDialog>
      )}
      {open === "rename" && <RenameDialog {...dialog} />}
      {open === "copy" && <CopyDialog {...dialog} nodes={nodes} />}
      {open === "delete" && <DeleteDialog {...dialog} />}
    </Row>
  );
}
