/** The HTML report of an eval as a person opens it: from the disk, in a browser. Skipped where this machine has no Chromium. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { findChromium, startChromium } from "../harness/chromium.ts";
import { YaoHome } from "./yao-command.ts";

const CHROMIUM = findChromium();
if (CHROMIUM === undefined)
  console.warn("skipped: there is no chromium on the PATH; install it, or set YAO_TEST_CHROMIUM to its path");

const CASES = 10_000;
const HOSTILE =
  '<img src=x onerror="window.hacked=1"></script><script>window.hacked=1</script> https://example.com/x.png';
const FILTER_MS = 200;
const OPEN_MS = 2_000;

interface AxeResult {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

/** What a case is: most pass, some fail, one tries to be more than text. */
function caseOf(n: number): object {
  const wanted = n % 50 === 0 ? "nothing" : `answer ${n}`;
  return { id: `case-${n}`, input: `/echo answer ${n}`, assert: { type: "contains", value: wanted } };
}

describe.skipIf(CHROMIUM === undefined)("the page", () => {
  const home = new YaoHome();
  const report = join(home.dir, "app/report.html");
  let browser: Awaited<ReturnType<typeof startChromium>>;

  beforeAll(async () => {
    const app = join(home.dir, "app");
    const hostile = {
      id: "<b>hostile</b>",
      input: `/echo ${HOSTILE}`,
      assert: { type: "contains", value: "</script>x" },
    };
    const cases = [hostile, ...Array.from({ length: CASES - 1 }, (_none, n) => caseOf(n + 1))];
    const line = `mkdir -p '${app}/assistants/echo' && cd '${app}' && echo '{"name":"T"}' > app.yao && echo '{"name":"Echo","connector":"demo"}' > assistants/echo/package.yao && printf -- '- role: system\\n  content: Repeat.\\n' > assistants/echo/prompts.yml`;
    expect((await home.ended(home.shell(line))).code).toBe(0);
    writeFileSync(join(app, "cases.jsonl"), cases.map((each) => JSON.stringify(each)).join("\n"));
    const { stderr } = await home.ended(
      home.shell(`cd '${app}' && yao agent eval echo @cases.jsonl --parallel 4 -o report.html >/dev/null`),
      120_000,
    );
    expect(stderr).toBe("");
    browser = await startChromium(CHROMIUM ?? "");
  });

  afterAll(async () => {
    await browser.close();
    await home[Symbol.asyncDispose]();
  });

  /** Opens the page and collects what it should not do. */
  async function opened(hash = "", colorScheme: "light" | "dark" = "light"): Promise<{ page: Page; wrong: string[] }> {
    const page = await browser.newPage({ colorScheme, viewport: { width: 1280, height: 900 } });
    const wrong: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") wrong.push(`console: ${message.text()}`);
    });
    page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
    page.on("request", (request) => {
      if (!request.url().startsWith("file://")) wrong.push(`request: ${request.url()}`);
    });
    await page.goto(`${pathToFileURL(report).href}${hash}`);
    await page.waitForSelector(".row");
    return { page, wrong };
  }

  test(`${CASES} cases open within ${OPEN_MS} ms, without an error and without a request to any host`, async () => {
    const begun = performance.now();
    const { page, wrong } = await opened();
    const tookMs = performance.now() - begun;
    expect(await page.textContent("#count")).toBe(`${CASES} of ${CASES} results`);
    // Only the rows that are seen are there.
    expect(await page.locator(".row").count()).toBeLessThan(60);
    expect(wrong).toEqual([]);
    expect(tookMs).toBeLessThan(OPEN_MS);
    await page.close();
  });

  test(`a filter and a sort take less than ${FILTER_MS} ms`, async () => {
    const { page, wrong } = await opened();
    // From the keystroke to a page that is laid out again.
    const timed = (work: string): Promise<number> =>
      page.evaluate(
        `(() => { const at = performance.now(); ${work}; document.body.offsetHeight; return performance.now() - at; })()`,
      );
    const type = (id: string, text: string): string =>
      `const e = document.getElementById("${id}"); e.value = "${text}"; e.dispatchEvent(new Event("input"))`;
    expect(await timed(type("text", "answer 77"))).toBeLessThan(FILTER_MS);
    const found = Array.from({ length: CASES - 1 }, (_none, n) => `answer ${n + 1}`).filter((text) =>
      text.includes("answer 77"),
    );
    expect(await page.textContent("#count")).toBe(`${found.length} of ${CASES} results`);
    expect(await timed(type("text", ""))).toBeLessThan(FILTER_MS);
    expect(await timed(type("status", "failed"))).toBeLessThan(FILTER_MS);
    expect(await page.textContent("#count")).toBe(`${Math.floor((CASES - 1) / 50) + 1} of ${CASES} results`);
    expect(await page.locator(".row").first().textContent()).toContain("failed");
    expect(await timed('document.querySelector(".head button").click()')).toBeLessThan(FILTER_MS);
    expect(await timed(type("status", ""))).toBeLessThan(FILTER_MS);
    await page.locator("#scroll").evaluate((box) => {
      box.scrollTop = box.scrollHeight;
    });
    // A predicate would be evaluated by eval, which the page's policy refuses.
    await page.locator(`[aria-rowindex="${CASES + 1}"]`).waitFor({ state: "attached" });
    expect(wrong).toEqual([]);
    await page.close();
  });

  test("a case opens by a click and by its address, and what a model said stays text", async () => {
    const { page, wrong } = await opened();
    await page.locator(".row a", { hasText: "<b>hostile</b>" }).click();
    const dialog = page.locator("dialog[open]");
    await dialog.waitFor();
    expect(await dialog.locator("h2").textContent()).toBe("<b>hostile</b> - failed");
    expect(await dialog.textContent()).toContain(HOSTILE);
    expect(await page.evaluate("window.hacked")).toBeUndefined();
    expect(await page.locator("dialog img, dialog script").count()).toBe(0);
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[open]", { state: "detached" });
    await page.close();
    const direct = await opened("#case=case-4321");
    expect(await direct.page.locator("dialog[open] h2").textContent()).toBe("case-4321 - passed");
    expect([...wrong, ...direct.wrong]).toEqual([]);
    await direct.page.close();
  });

  test.each(["light", "dark"] as const)("axe finds nothing, in %s", async (scheme) => {
    for (const hash of ["", "#case=case-50"]) {
      const { page } = await opened(hash, scheme);
      await page.evaluate(axe.source);
      const { violations } = (await page.evaluate("axe.run()")) as AxeResult;
      expect(violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html }) => html)])).toEqual([]);
      await page.close();
    }
  });

  test("the JUnit report of hostile text is well-formed XML", async () => {
    const app = join(home.dir, "app");
    writeFileSync(
      join(app, "odd.jsonl"),
      JSON.stringify({
        id: "a\u0001</script>",
        input: `/echo ]]> & < \u001B[2J ${HOSTILE}`,
        assert: { type: "contains", value: "]]>never" },
      }),
    );
    await home.ended(home.shell(`cd '${app}' && yao agent eval echo @odd.jsonl -o odd.xml >/dev/null`));
    const page = await browser.newPage();
    const xml = JSON.stringify(readFileSync(join(app, "odd.xml"), "utf8"));
    const read = `(() => { const doc = new DOMParser().parseFromString(${xml}, "application/xml"); return [doc.querySelectorAll("parsererror").length, doc.querySelectorAll("testcase > failure").length]; })()`;
    expect(await page.evaluate(read)).toEqual([0, 1]);
    await page.close();
  });
});
