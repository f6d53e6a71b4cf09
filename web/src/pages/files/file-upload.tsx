/** Puts files into the directory that is shown, on a device that is online. */

import type { Node } from "@mesh/proto";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { ApiError } from "../../api/error.ts";
import { writeFile } from "../../api/files.ts";
import { useWorkspace } from "../../app/workspace.ts";
import { SelectField } from "../../ui/field.tsx";
import { Note } from "../../ui/list.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { UploadZone } from "../documents/upload-zone.tsx";
import { useUpload } from "../documents/use-upload.ts";
import { inside } from "./file-path.ts";
import { useText } from "./text.ts";

interface FileUploadProps {
  readonly directory: string;
  readonly nodes: readonly Node[];
  /** The device that the list is narrowed to; empty when to none. */
  readonly node: string;
}

/** The zone with the choice of the device. */
export function FileUpload({ directory, nodes, node }: FileUploadProps): ReactNode {
  const say = useText();
  const workspace = useWorkspace();
  const queries = useQueryClient();
  const online = nodes.filter(({ status }) => status === "online");
  const [wanted, setWanted] = useState("");
  const chosen = online.find(({ id }) => id === wanted) ?? online.find(({ id }) => id === node) ?? online[0];
  const again = (): void => void queries.invalidateQueries({ queryKey: ["file-pages"] });
  const write = (file: File, ifHash: string | undefined): Promise<unknown> =>
    writeFile({ workspace, path: inside(directory, file.name), node: chosen?.id, if_hash: ifHash }, { bytes: file });
  const replace = (file: File): void => void write(file, undefined).then(again, toastError);
  const send = async (file: File): Promise<boolean> => {
    try {
      await write(file, "none");
      return true;
    } catch (thrown) {
      // What is there is replaced only when a person says so.
      if (ApiError.from(thrown).code !== "aborted") throw thrown;
      const action = { label: say("replace"), run: () => replace(file) };
      toast(say("exists", { name: file.name }), { isError: true, action });
      return false;
    }
  };
  const { busyWith, upload } = useUpload(send, again);
  if (chosen === undefined) return <Note>{say("noDevice")}</Note>;
  return (
    <>
      {online.length > 1 && (
        <SelectField
          label={say("uploadTo")}
          value={chosen.id}
          options={online.map(({ id, name }) => [id, name] as const)}
          onChange={(event) => setWanted(event.target.value)}
        />
      )}
      <UploadZone onFiles={upload} busyWith={busyWith} />
    </>
  );
}
