/** People in front of a real browser on a running system: a desktop or a phone each, with cookies of their own. */

import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import type { Browser, BrowserContext, Page } from "playwright-core";

const LIMIT_MS = 10_000;
const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const;

/** Where screenshots go: YAO_ARTIFACTS, or a new folder; never into the repository. */
export function artifactFolder(): string {
  const given = process.env["YAO_ARTIFACTS"] ?? "";
  const folder = given === "" ? mkdtempSync(join(tmpdir(), "yao-artifacts-")) : resolve(given);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** One person's browser. */
export class Person {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What went wrong inside the pages. */
  readonly errors: string[] = [];
  readonly #folder: string;

  private constructor(page: Page, folder: string) {
    this.page = page;
    this.context = page.context();
    this.#folder = folder;
    this.#watch(page);
  }

  /** Opens an address in a context without cookies. */
  static async open(browser: Browser, url: string, size: keyof typeof SIZES, folder: string): Promise<Person> {
    const isPhone = size === "phone";
    const context = await browser.newContext({
      viewport: SIZES[size],
      hasTouch: isPhone,
      isMobile: isPhone,
      locale: "en",
    });
    context.setDefaultTimeout(LIMIT_MS);
    const person = new Person(await context.newPage(), folder);
    await person.page.goto(url);
    return person;
  }

  /** Another tab of the same browser. */
  async tab(url: string): Promise<Page> {
    const page = await this.context.newPage();
    this.#watch(page);
    await page.goto(url);
    return page;
  }

  /** Keeps what is seen now. */
  async shoot(name: string): Promise<void> {
    await this.page.screenshot({ path: join(this.#folder, `${name}.png`) });
  }

  #watch(page: Page): void {
    page.on("pageerror", (error) => this.errors.push(error.message));
  }
}
