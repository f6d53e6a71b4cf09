/**
 * Keyboard shortcuts: a registry that the help sheet reads.
 *
 * K1  Letters do nothing while a person types, while a dialog is open, or when they were turned off.
 * K2  Two letters in a row count when the second comes within a second.
 */

import { useEffect, useRef } from "react";
import { create } from "zustand";

import { browserClock, type Clock } from "./clock.ts";
import { preferencesOf, useSession } from "./session.ts";

/** One shortcut; `keys` is a letter, two letters with a space between, or a combination such as mod+k. */
export interface Shortcut {
  readonly keys: string;
  readonly label: string;
  readonly run: () => void;
}

const CHORD_MS = 1_000;

/** What is registered now, for the help sheet. */
export const useShortcuts = create<{ readonly list: readonly Shortcut[] }>()(() => ({ list: [] }));

/** Registers a shortcut as long as the component is shown; the newest of several with the same keys wins. */
export function useShortcut(keys: string, label: string, run: () => void): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    const shortcut: Shortcut = { keys, label, run: () => latest.current() };
    useShortcuts.setState(({ list }) => ({ list: [...list, shortcut] }));
    return () => useShortcuts.setState(({ list }) => ({ list: list.filter((other) => other !== shortcut) }));
  }, [keys, label]);
}

/** Finds what a key means, given the one before. */
export class KeyReader {
  readonly #clock: Clock;
  #before = "";
  #beforeMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The shortcut that this key completes. */
  read(event: KeyboardEvent, list: readonly Shortcut[], letters: boolean): Shortcut | undefined {
    const name = nameOf(event);
    const isLetter = !name.includes("+");
    if (event.isComposing || (isLetter && (!letters || isTyping(event.target) || isDialogOpen()))) return undefined;
    const now = this.#clock.now();
    const chord = now - this.#beforeMs <= CHORD_MS ? `${this.#before} ${name}` : name;
    this.#before = name;
    this.#beforeMs = now;
    const find = (keys: string): Shortcut | undefined => list.findLast((shortcut) => shortcut.keys === keys);
    return find(chord) ?? (list.some(({ keys }) => keys === chord) ? undefined : find(name));
  }
}

/** Listens on the whole page as long as it is rendered. */
export function useKeyboard(): void {
  useEffect(() => {
    const reader = new KeyReader(browserClock);
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented) return;
      const { letters } = preferencesOf(useSession.getState().account);
      const shortcut = reader.read(event, useShortcuts.getState().list, letters);
      if (shortcut === undefined) return;
      event.preventDefault();
      shortcut.run();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}

function nameOf(event: KeyboardEvent): string {
  const mod = event.ctrlKey || event.metaKey ? "mod+" : "";
  const alt = event.altKey ? "alt+" : "";
  return mod + alt + (event.key.length === 1 ? event.key.toLowerCase() : event.key);
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

function isDialogOpen(): boolean {
  return document.querySelector("dialog[open]") !== null;
}
