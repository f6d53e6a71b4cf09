/** A headless browser of this machine, for tests of pages. None is downloaded: tests skip, and say so, where there is none. */

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

import { type Browser, chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** The browser's path; undefined where there is none. */
export function findChromium(): string | undefined {
  const { PATH = "", YAO_TEST_CHROMIUM: given } = process.env;
  if (given !== undefined && given !== "") return given;
  const paths = PATH.split(delimiter).flatMap((dir) => NAMES.map((name) => join(dir, name)));
  return paths.find((path) => existsSync(path));
}

/** Starts it without anything that talks to a host by itself. */
export async function startChromium(executablePath: string): Promise<Browser> {
  return await chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-default-apps",
      "--disable-domain-reliability",
      "--disable-sync",
      "--metrics-recording-only",
      "--no-first-run",
      "--no-pings",
    ],
  });
}
