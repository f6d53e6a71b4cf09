/** Sends files one after the other, so that a failure is told for the file it belongs to. */

import { useState } from "react";

import { toast, toastError } from "../../ui/toast.tsx";
import { useText } from "./text.ts";

/** The most that one call takes. */
export const MAX_UPLOAD_BYTES: number = 32 * 1024 * 1024;

/** `send` uploads one file; it answers false when it told itself why the file is not there. */
export function useUpload(
  send: (file: File) => Promise<unknown>,
  onDone: () => unknown,
): { readonly busyWith: string | undefined; readonly upload: (files: readonly File[]) => void } {
  const say = useText();
  const [busyWith, setBusyWith] = useState<string>();
  const work = async (files: readonly File[]): Promise<void> => {
    for (const file of files) {
      if (file.size > MAX_UPLOAD_BYTES) {
        toast(say("tooLarge", { name: file.name }), { isError: true });
        continue;
      }
      setBusyWith(file.name);
      try {
        if ((await send(file)) !== false) toast(say("uploaded", { name: file.name }));
      } catch (thrown) {
        toastError(thrown);
      }
    }
    setBusyWith(undefined);
    onDone();
  };
  return { busyWith, upload: (files) => void work(files) };
}
