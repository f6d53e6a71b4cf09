import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";

import { safeHref } from "./inline.tsx";
import { highlight } from "./highlight.ts";
import { GrowingMarkdown, Markdown } from "./markdown.tsx";

test("M1 HTML in a text is text, and images are links", () => {
  const { container } = render(
    <Markdown text={"<script>alert(1)</script>\n\n<img src=x onerror=alert(1)> ![pic](https://evil.example/p.png)"} />,
  );
  expect(container.querySelector("script, img")).toBeNull();
  expect(container.textContent).toContain("<script>alert(1)</script>");
  expect(screen.getByRole("link", { name: "pic" }).getAttribute("href")).toBe("https://evil.example/p.png");
});

test("M2 only addresses with a known scheme, or of this page, are followed", () => {
  const refused = [
    "javascript:alert(1)",
    "java\nscript:alert(1)",
    "\u0001javascript:alert(1)",
    "data:text/html,x",
    "//evil.example",
    "/\\evil.example",
    "vbscript:x",
  ];
  expect(refused.map(safeHref)).toEqual(refused.map(() => undefined));
  expect(["https://a.example/x", "mailto:a@b.example", "/task/T-1", "#part"].map(safeHref)).toEqual([
    "https://a.example/x",
    "mailto:a@b.example",
    "/task/T-1",
    "#part",
  ]);
  render(<Markdown text={"[click](javascript:alert(1))"} />);
  expect(screen.queryByRole("link")).toBeNull();
  expect(screen.getByText("click")).toBeTruthy();
});

test("lists, tables, tasks, code and headings become what they are", () => {
  const { container } = render(
    <Markdown
      text={
        "# Head\n\n1. one\n2. two\n\n- [x] done\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n\n```js\nlet a\n```\n\n**b** *i* ~~d~~ `c`"
      }
    />,
  );
  const names = [
    "h3",
    "ol li",
    "input[type=checkbox]:checked",
    "table td",
    "pre code",
    "strong",
    "em",
    "del",
    "p code",
  ];
  expect(names.map((name) => [name, container.querySelector(name) !== null])).toEqual(
    names.map((name) => [name, true]),
  );
});

test("a growing text shows at every moment what the whole text would", () => {
  const text = "# Title\n\nSome *words* here.\n\n- one\n- two\n\n```js\nlet a = 1;\n\nlet b;\n```\n\nThe end.\n";
  const growing = render(<GrowingMarkdown text="" />);
  for (let at = 1; at <= text.length; at += 3) growing.rerender(<GrowingMarkdown text={text.slice(0, at)} />);
  growing.rerender(<GrowingMarkdown text={text} />);
  const whole = render(<Markdown text={text} />);
  expect(growing.container.textContent).toBe(whole.container.textContent);
  expect(growing.container.querySelectorAll("li")).toHaveLength(2);
});

test("code of a known language comes in coloured pieces that are the code again", () => {
  const code = "const a = `x${1}`; // note";
  const flat = (spans: ReturnType<typeof highlight>): string =>
    (spans ?? []).map((span) => (typeof span === "string" ? span : flat(span.children))).join("");
  expect(flat(highlight(code, "ts"))).toBe(code);
  expect(highlight(code, "ts")?.some((span) => typeof span !== "string" && span.scope === "keyword")).toBe(true);
  expect(highlight("x", "no-such-language")).toBeUndefined();
});
