/** The list of shortcuts, made from what is registered. */

import { type ReactNode, useState } from "react";
import { create } from "zustand";

import { Dialog } from "../ui/dialog.tsx";
import { CheckField } from "../ui/field.tsx";
import { toastError } from "../ui/toast.tsx";
import { preferencesOf, savePreferences, useSession } from "./session.ts";
import style from "./shortcut-sheet.module.css";
import { useShortcut, useShortcuts } from "./shortcuts.ts";
import { useText } from "./text.ts";

/** Whether the sheet is open. */
export const useShortcutSheet = create<{ readonly isOpen: boolean }>()(() => ({ isOpen: false }));

/** The sheet, opened by its own shortcut. */
export function ShortcutSheet(): ReactNode {
  const say = useText();
  const isOpen = useShortcutSheet((state) => state.isOpen);
  useShortcut("?", say("help"), () => useShortcutSheet.setState({ isOpen: true }));
  if (!isOpen) return null;
  return <Sheet />;
}

function Sheet(): ReactNode {
  const say = useText();
  const list = useShortcuts((state) => state.list);
  const account = useSession((state) => state.account);
  const [letters, setLetters] = useState(preferencesOf(account).letters);
  const unique = new Map(list.map((shortcut) => [shortcut.keys, shortcut]));
  return (
    <Dialog title={say("shortcuts")} onClose={() => useShortcutSheet.setState({ isOpen: false })}>
      <table className={style.table}>
        <thead>
          <tr>
            <th scope="col">{say("keys")}</th>
            <th scope="col">{say("action")}</th>
          </tr>
        </thead>
        <tbody>
          {[...unique.values()].map(({ keys, label }) => (
            <tr key={keys}>
              <td>
                {keys.split(" ").map((key, index) => (
                  <kbd key={`${index}${key}`}>{key.replace("mod+", "Ctrl/⌘ ")}</kbd>
                ))}
              </td>
              <td>{label}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <CheckField
        label={say("letters")}
        checked={letters}
        onChange={(event) => {
          setLetters(event.target.checked);
          savePreferences({ letters: event.target.checked }).catch(toastError);
        }}
      />
    </Dialog>
  );
}
