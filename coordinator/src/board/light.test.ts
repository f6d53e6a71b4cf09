import fc from "fast-check";
import { expect, test } from "vitest";

import { readAnswer } from "./light.ts";

test("an answer is read through the prose around it, and links that were made up are left out", () => {
  const text = "See https://a.example/report for it";
  const answer =
    'Here it is:\n```json\n{"title": "Report\\nof May", "summary": "Done.", "links": [{"title": "Report", "url": "https://a.example/report"}, {"title": "x", "url": "https://made.up/"}, {"url": "javascript:alert(1)"}]}\n```';
  expect(readAnswer(answer, text)).toEqual({
    title: "Report of May",
    summary: "Done.",
    links: [{ kind: "link", title: "Report", target: "https://a.example/report" }],
  });
  expect(readAnswer("I cannot do that.", text)).toBeUndefined();
});

test("whatever a model says, title and summary are single bounded lines", () => {
  fc.assert(
    fc.property(fc.anything(), fc.string(), (title, summary) => {
      const said = readAnswer(JSON.stringify({ title, summary }), "");
      expect(Array.from(said?.title ?? "").length).toBeLessThanOrEqual(80);
      expect(said?.summary ?? "").not.toMatch(/[\n\0]/);
    }),
  );
});
