/** Copies a text. */

import { type ReactNode, useState } from "react";

import { browserClock } from "../app/clock.ts";
import { Button } from "./button.tsx";
import { useText } from "./text.ts";

const SHOWN_MS = 2_000;

/** Puts a text into the clipboard; false when the browser refuses. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Over plain HTTP from another device there is no clipboard: an old way is left.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
}

/** A button that copies. */
export function CopyButton({ text, label }: { readonly text: string; readonly label?: string }): ReactNode {
  const say = useText();
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    setCopied(await copyText(text));
    browserClock.after(SHOWN_MS, () => setCopied(false));
  };
  return (
    <Button icon={copied ? "check" : "copy"} onClick={() => void copy()}>
      {copied ? say("copied") : (label ?? say("copy"))}
    </Button>
  );
}
