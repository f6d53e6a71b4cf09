/** A real browser on the built page, served by the fake coordinator. */

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { type Browser, chromium, type Page } from "playwright-core";

const WEB = join(import.meta.dirname, "../..");

/** Where the page is built to. */
export const DIST = join(WEB, "dist");

const PLACES = [
  process.env["YAO_TEST_CHROMIUM"] ?? "",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** The browser's program; undefined where none is installed. */
export const CHROMIUM = PLACES.find((place) => place !== "" && existsSync(place));

/** Why browser tests do not run here; empty when they do. */
export const SKIP_REASON =
  CHROMIUM === undefined ? "no chromium here: apt-get install chromium, or set YAO_TEST_CHROMIUM" : "";

/** Starts the browser; the page is built first where it is not. */
export async function launch(): Promise<Browser> {
  if (!existsSync(join(DIST, "index.html"))) {
    const built = spawnSync("npm", ["run", "-s", "build"], { cwd: WEB, encoding: "utf8" });
    if (built.status !== 0) throw new Error(`the page could not be built: ${built.stderr}`);
  }
  return chromium.launch({
    executablePath: CHROMIUM ?? "",
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"],
  });
}

/** A desktop and a phone. */
export const SIZES = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const;

/** How a page is looked at. */
export interface Look {
  readonly size: keyof typeof SIZES;
  readonly theme: "light" | "dark";
  readonly locale: "en" | "zh-CN" | "en-XA";
}

/** Opens a page of its own context; what goes wrong inside is collected. */
export async function open(
  browser: Browser,
  url: string,
  look: Partial<Look> = {},
): Promise<{ page: Page; errors: string[] }> {
  const { size = "desktop", theme = "light", locale = "en" } = look;
  const isPhone = size === "phone";
  const context = await browser.newContext({
    viewport: SIZES[size],
    colorScheme: theme,
    hasTouch: isPhone,
    isMobile: isPhone,
    locale: locale === "zh-CN" ? "zh-CN" : "en",
    serviceWorkers: "block",
  });
  await context.addInitScript((name) => localStorage.setItem("yao.locale", name), locale);
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => {
    // A refused call is part of some tests, and Chromium reports each.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      errors.push(message.text());
  });
  await page.goto(url);
  return { page, errors };
}

/** What axe finds on a page, one line each; with rules, by those only. */
export async function axe(page: Page, rules?: readonly string[]): Promise<string[]> {
  const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  // Evaluated by the debugger, which the page's policy does not bind.
  await page.evaluate(source);
  return page.evaluate(async (only) => {
    const { axe } = globalThis as unknown as {
      axe: {
        run: (
          options: object,
        ) => Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>;
      };
    };
    const { violations } = await axe.run(only === undefined ? {} : { runOnly: only });
    return violations.flatMap(({ id, nodes }) =>
      nodes
        .slice(0, 5)
        .map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary.slice(0, 300)}`),
    );
  }, rules);
}
