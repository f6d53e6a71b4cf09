import { expect, test, vi } from "vitest";

import { ManualClock } from "../testing/manual-clock.ts";
import { KeyReader, type Shortcut } from "./shortcuts.ts";

const key = (name: string, init: KeyboardEventInit = {}): KeyboardEvent =>
  new KeyboardEvent("keydown", { key: name, ...init });
const shortcut = (keys: string): Shortcut => ({ keys, label: keys, run: vi.fn() });
const list = [shortcut("c"), shortcut("g b"), shortcut("mod+k"), shortcut("b")];

test("K2 two letters count together within a second, and alone after it", () => {
  const clock = new ManualClock();
  const reader = new KeyReader(clock);
  expect(reader.read(key("g"), list, true)).toBeUndefined();
  expect(reader.read(key("b"), list, true)?.keys).toBe("g b");
  reader.read(key("g"), list, true);
  clock.advance(1_500);
  expect(reader.read(key("b"), list, true)?.keys).toBe("b");
});

test("K1 letters do nothing when turned off, while typing, or in a dialog; combinations do", () => {
  const reader = new KeyReader(new ManualClock());
  expect(reader.read(key("c"), list, false)).toBeUndefined();
  expect(reader.read(key("k", { ctrlKey: true }), list, false)?.keys).toBe("mod+k");
  const field = document.body.appendChild(document.createElement("input"));
  let seen: Shortcut | undefined;
  field.addEventListener("keydown", (event) => (seen = reader.read(event, list, true)));
  field.dispatchEvent(key("c", { bubbles: true }));
  expect(seen).toBeUndefined();
  field.remove();
  const dialog = document.body.appendChild(document.createElement("dialog"));
  dialog.setAttribute("open", "");
  expect(reader.read(key("c"), list, true)).toBeUndefined();
  dialog.remove();
  expect(reader.read(key("c"), list, true)?.keys).toBe("c");
});
