import { expect, test } from "vitest";

import { loadCases } from "./load-cases.ts";
import { decodeText } from "./value-stream.ts";

const ids = (text: string): readonly string[] => {
  const { cases, problems } = loadCases(text, "t.jsonl");
  expect(problems).toEqual([]);
  return cases.map(({ id }) => id);
};
const problemsOf = (text: string): readonly string[] =>
  loadCases(text, "t.jsonl").problems.map(({ line, message }) => `${line}: ${message}`);

test("one object a line, with a byte order mark, CRLF, CR, blank lines and comments", () => {
  expect(
    ids('\uFEFF{"id":"a","input":"x"}\r\n\r\n// note\r\n# note\r\n{"id":"b","input":"x"}\r{"id":"c","input":"x"}'),
  ).toEqual(["a", "b", "c"]);
});

test("a byte order mark between files that were put together is no part of a case", () => {
  expect(ids('{"id":"a","input":"x"}\n\uFEFF{"id":"b","input":"x"}\n')).toEqual(["a", "b"]);
});

test("objects over several lines, several on a line, one array around all, comments inside", () => {
  expect(ids('{\n  "id": "a",\n  "input": "x"\n}\n{"id":"b","input":"x"} {"id":"c","input":"x"}')).toEqual([
    "a",
    "b",
    "c",
  ]);
  expect(ids('[\n {"id":"a","input":"x"},\n {"id":"b","input":"x"}\n]')).toEqual(["a", "b"]);
  expect(ids('{\n  // the first\n  "id": "a", "input": "http://x" }')).toEqual(["a"]);
});

test("line separators of Unicode and brackets in texts end nothing", () => {
  expect(ids('{"id":"a","input":"x\u2028}{["}\n{\n"id":"b","input":"}\\"{"}')).toEqual(["a", "b"]);
});

test("all problems of a file are told at once, with their lines", () => {
  const text = [
    '{"id":"a","input":"x","asert":{"type":"contains","value":"y"}}',
    '{"id":"b","input":"x","assert":{"type":"contians","value":"y"}}',
    "{",
    '  "id": "c",',
    '  "input": "x",',
    '  "timeout": "30",',
    '  "assert": {"type": "regex", "value": "(?=a)"}',
    "}",
    '{"id":"d"}',
    '{"id":"e","input":"x"} trailing',
    '{"id":"a","input":"again"}',
    '{"id":"f","input":"x","assert":{"type":"json_path","path":"$[","value":1}}',
    '{"id":"g","input":"x"',
  ].join("\n");
  const told = problemsOf(text);
  expect(told).toEqual([
    '1: a: asert is not known; did you mean "assert"?',
    '2: b: there is no assertion "contians"; did you mean "contains"?',
    '6: c: timeout must be a duration such as 30s, 1m30s or 500ms, not "30"',
    expect.stringMatching(/^7: c: the pattern "\(\?=a\)" is not RE2/),
    "9: d: input is missing",
    expect.stringMatching(/^10: a case must be a JSON object/),
    expect.stringMatching(/^12: f: the path/),
    expect.stringMatching(/^13: the object that begins here is never closed/),
  ]);
});

test("two cases of one id are refused, naming both lines, whatever the id's form", () => {
  expect(problemsOf('{"id":"T001","input":"x"}\n{"id":"T001","input":"y"}')).toEqual([
    '2: the id "T001" is taken: line 1 has it too',
  ]);
  expect(problemsOf('{"id":1,"input":"x"}\n{"id":"1 ","input":"y"}')).toEqual([
    '2: the id "1" is taken: line 1 has it too',
  ]);
  expect(problemsOf('{"id":"é","input":"x"}\n{"id":"e\u0301","input":"y"}')).toHaveLength(1);
});

test("an empty file is a problem, not a success", () => {
  for (const text of ["", "\n\n", "// nothing\n"]) expect(problemsOf(text)[0]).toMatch(/there is no case/);
});

test("durations of every form are read, others refused", () => {
  const timeout = (text: string) => loadCases(`{"id":"a","input":"x","timeout":"${text}"}`, "t").cases[0]?.timeoutMs;
  expect(["30s", "2m", "1m30s", "500ms", "1.5h"].map(timeout)).toEqual([30_000, 120_000, 90_000, 500, 5_400_000]);
  for (const text of ["30", "abc", "0s", "-1s"]) expect(timeout(text)).toBeUndefined();
});

test.each([
  ['{"id":"a","input":""}', /input is empty/],
  ['{"id":"","input":"x"}', /id is empty/],
  ['{"input":"x"}', /id is missing/],
  ['{"id":"a","input":[]}', /empty conversation/],
  ['{"id":"a","input":[{"role":"robot","content":"x"}]}', /role must be one of/],
  ['{"id":"a","input":{"role":"user"}}', /content must be/],
  ['{"id":"a","input":"x","assert":[]}', /empty list/],
  ['{"id":"a","input":"x","assert":{"type":"contains","value":1}}', /value must be a text, not 1/],
  ['{"id":"a","input":"x","assert":{"type":"agent","use":"tests.v","value":"y"}}', /must be "agents:ID"/],
  [
    '{"id":"a","input":"x","assert":{"type":"tool_result","value":{"tool":"t","result":{"m":"regex:("}}}}',
    /is not RE2/,
  ],
  ['{"id":"a","input":"x","options":{"conector":"y"}}', /did you mean "connector"/],
  ['{"id":"a","input":"x","skip":"yes"}', /skip must be true or false/],
  ['{"id":"a","input":"x","simulator":{"use":"s"}}', /needs checkpoints/],
  ['{"id":"a","input":"x","checkpoints":[{"id":"c","assert":{"type":"contains","value":"y"}}]}', /needs a simulator/],
  [
    '{"id":"a","input":"x","simulator":{"use":"s"},"checkpoints":[{"id":"c","after":["d"],"assert":{"value":"y"}}]}',
    /comes after "d", which does not exist/,
  ],
  [
    '{"id":"a","input":"x","simulator":{"use":"s"},"checkpoints":[{"id":"c","after":["c"],"assert":{"value":"y"}}]}',
    /leads back to itself/,
  ],
  [
    '{"id":"a","input":"x","simulator":{"use":"s"},"max_turns":0,"checkpoints":[{"id":"c","assert":{"value":"y"}}]}',
    /max_turns must be a whole number/,
  ],
  ["5", /a case must be|the case must be/],
])("%s is refused: %s", (text, message) => {
  expect(problemsOf(text).join("\n")).toMatch(message);
});

test("text that is not UTF-8 is refused with advice", () => {
  expect(() => decodeText(Buffer.from("\uFEFF{}", "utf16le"), "f")).toThrow(/UTF-16; save it as UTF-8/);
  expect(() => decodeText(new Uint8Array([0x7b, 0xff]), "f")).toThrow(/not UTF-8/);
});

test("100,000 cases load in little time", { timeout: 60_000 }, () => {
  const text = Array.from(
    { length: 100_000 },
    (_none, n) => `{"id":"c${n}","input":"/echo ${n}","assert":{"type":"contains","value":"${n}"}}`,
  ).join("\n");
  const startedMs = performance.now();
  expect(loadCases(text, "f").cases).toHaveLength(100_000);
  expect(performance.now() - startedMs).toBeLessThan(8_000);
});
