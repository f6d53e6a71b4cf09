/** A person without a mouse: everything is reached by Tab and done by keys. */

import type { Locator, Page } from "playwright-core";

const MAX_STEPS = 120;

/** Hands on the keys of a page. */
export interface Keys {
  /** Goes to it by Tab; fails where Tab never comes, or where it cannot be seen that it has the focus. */
  reach(target: Locator): Promise<void>;
  /** Reaches it and presses Enter, or another key. */
  press(target: Locator, key?: string): Promise<void>;
  /** Reaches a field and types in the place of what is there. */
  fill(target: Locator, text: string): Promise<void>;
  /** Reaches a list and chooses by typing the beginning of the option. */
  choose(target: Locator, option: string): Promise<void>;
  /** Opens a menu and chooses an entry of it by arrows. */
  pick(menu: Locator, entry: string): Promise<void>;
}

/** The keys of this page. */
export function keysOf(page: Page): Keys {
  const { keyboard } = page;
  const hasFocus = (target: Locator): Promise<boolean> =>
    target.evaluate((element) => element === element.ownerDocument.activeElement);
  const reach = async (target: Locator): Promise<void> => {
    await target.waitFor();
    for (let steps = 0; !(await hasFocus(target)); steps += 1) {
      if (steps === MAX_STEPS) throw new Error(`Tab never reaches ${String(target)}`);
      await keyboard.press("Tab");
    }
    const isSeen = await target.evaluate((element) => {
      const { outlineStyle, boxShadow } = getComputedStyle(element);
      return element.matches(":focus-visible") && (outlineStyle !== "none" || boxShadow !== "none");
    });
    if (!isSeen) throw new Error(`nothing shows that ${String(target)} has the focus`);
  };
  return {
    reach,
    async press(target, key = "Enter") {
      await reach(target);
      await keyboard.press(key);
    },
    async fill(target, text) {
      await reach(target);
      await keyboard.press("ControlOrMeta+A");
      if (text === "") await keyboard.press("Delete");
      else await keyboard.type(text);
    },
    async choose(target, option) {
      await reach(target);
      await keyboard.type(option);
    },
    async pick(menu, entry) {
      await reach(menu);
      await keyboard.press("Enter");
      const item = page.getByRole("menuitem", { name: entry });
      await item.waitFor();
      for (let steps = 0; !(await hasFocus(item)); steps += 1) {
        if (steps === MAX_STEPS) throw new Error(`the arrows never reach ${entry}`);
        await keyboard.press("ArrowDown");
      }
      await keyboard.press("Enter");
    },
  };
}
