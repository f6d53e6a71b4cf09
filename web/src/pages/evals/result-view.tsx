/** One result: what went in and came out, and why it passed or not. */

import type { EvalResult } from "@mesh/proto";
import type { ReactNode } from "react";

import { isRecord } from "../../api/error.ts";
import { CopyButton } from "../../ui/copy.tsx";
import { Code, Facts, Line, Main, Note, Problem, Row, Rows, Section } from "../../ui/list.tsx";
import { Time } from "../../ui/time.tsx";
import type { Cell } from "./eval-log.ts";
import { StatusText, useDuration } from "./eval-view.tsx";
import { statusOf } from "./status.ts";
import { useText } from "./text.ts";

type Fields = Readonly<Record<string, unknown>>;

// A longer text makes the page slow; the copy has all of it.
const MAX_CHARS = 20_000;

/** What a result is shown with. */
export interface ResultViewProps {
  readonly result: EvalResult;
  readonly cell: Cell;
  /** Whose result it is, where there is more than one on the page. */
  readonly prefix?: string;
}

/** The result. */
export function ResultView({ result, cell, prefix = "" }: ResultViewProps): ReactNode {
  const say = useText();
  const details: Fields = result.result ?? {};
  const { input, output, expected, error } = details;
  // Parts of a page have names of their own.
  const named = (text: string): string => (prefix === "" ? text : `${prefix}: ${text}`);
  const part = (name: "input" | "output" | "expected", value: unknown, body: ReactNode): ReactNode => (
    <Section title={named(say(name))} actions={isFilled(value) && <CopyButton text={textOf(value)} />}>
      {body}
    </Section>
  );
  const label = (name: "input" | "output" | "expected"): string => say("contentOf", { what: named(say(name)) });
  return (
    <>
      <ResultFacts result={result} details={details} cell={cell} />
      {typeof error === "string" && error !== "" && <Problem>{error}</Problem>}
      {textsIn(details["warnings"]).map((warning) => (
        <Problem key={warning}>{warning}</Problem>
      ))}
      {textsIn(details["retries"]).map((retry, index) => (
        <Note key={`${index} ${retry}`}>{say("retried", { why: retry })}</Note>
      ))}
      {isFilled(input) && part("input", input, <Messages label={label("input")} value={input} />)}
      {part(
        "output",
        output,
        isFilled(output) ? <JsonText label={label("output")} value={output} /> : <Note>{say("noOutput")}</Note>,
      )}
      {isFilled(expected) && part("expected", expected, <JsonText label={label("expected")} value={expected} />)}
      <Assertions list={recordsIn(details["assertions"])} named={named} />
      <Trace details={details} named={named} />
      <CopyButton text={JSON.stringify(details, null, 2)} label={say("copyResult")} />
    </>
  );
}

type Named = (text: string) => string;

interface FactsProps {
  readonly result: EvalResult;
  readonly details: Fields;
  readonly cell: Cell;
}

function ResultFacts({ result, details, cell }: FactsProps): ReactNode {
  const say = useText();
  const duration = useDuration();
  const usage = isRecord(details["usage"]) ? details["usage"] : {};
  const { total_tokens: tokens, cost_usd: cost } = usage;
  return (
    <Facts
      facts={[
        [say("status"), <StatusText key="status" status={cell.status} />],
        [say("device"), result.node],
        [say("runName"), result.copy > 1 ? `${result.run} (${say("copy", { n: result.copy })})` : result.run],
        [say("duration"), duration(cell.durationMs)],
        [say("attempt"), result.attempt === 0 ? "" : result.attempt + 1],
        [say("cause"), typeof details["cause"] === "string" ? details["cause"] : ""],
        [say("tokens"), typeof tokens === "number" ? tokens : ""],
        [say("cost"), typeof cost === "number" ? `$${cost.toFixed(4)}` : ""],
        [say("at"), result.created_at === "" ? "" : <Time key="at" at={result.created_at} exact />],
      ]}
    />
  );
}

function Assertions({ list, named }: { readonly list: readonly Fields[]; readonly named: Named }): ReactNode {
  const say = useText();
  if (list.length === 0) return null;
  return (
    <Section title={named(say("assertions"))}>
      <Rows label={named(say("assertions"))}>
        {list.map((each, index) => (
          <Row key={index}>
            <StatusText status={statusOf(stringIn(each, "status"))} />
            <Main>
              <code>
                {each["negate"] === true ? `${say("not")} ` : ""}
                {stringIn(each, "type")}
              </code>
              {stringIn(each, "message") !== "" && <Note>{stringIn(each, "message")}</Note>}
              {(["expected", "actual"] as const).map(
                (name) =>
                  isFilled(each[name]) && (
                    <div key={name}>
                      <Note>{say(name)}</Note>
                      <JsonText
                        label={named(say("ofAssertion", { what: say(name), n: index + 1 }))}
                        value={each[name]}
                      />
                    </div>
                  ),
              )}
              <Verdict
                label={named(say("ofAssertion", { what: say("validator"), n: index + 1 }))}
                value={each["agent_validation"]}
              />
            </Main>
          </Row>
        ))}
      </Rows>
    </Section>
  );
}

/** What a validator was asked and said. */
function Verdict({ label, value }: { readonly label: string; readonly value: unknown }): ReactNode {
  const say = useText();
  if (!isRecord(value)) return null;
  return (
    <details>
      <summary>{say("validator")}</summary>
      <p>{stringIn(value, "reason")}</p>
      <JsonText label={label} value={value} />
    </details>
  );
}

function Trace({ details, named }: { readonly details: Fields; readonly named: Named }): ReactNode {
  const say = useText();
  const trace = isRecord(details["trace"]) ? details["trace"] : {};
  const calls = recordsIn(trace["tool_calls"]);
  const completion = isRecord(trace["completion"]) ? trace["completion"] : {};
  const reasoning = stringIn(completion, "reasoning_content");
  return (
    <>
      {calls.length > 0 && (
        <Section title={named(say("toolCalls"))}>
          {calls.map((call, index) => (
            <ToolCall key={index} call={call} label={named(String(index + 1))} />
          ))}
        </Section>
      )}
      {reasoning !== "" && (
        <details>
          <summary>{say("reasoning")}</summary>
          <JsonText label={named(say("reasoning"))} value={reasoning} />
        </details>
      )}
    </>
  );
}

function ToolCall({ call, label }: { readonly call: Fields; readonly label: string }): ReactNode {
  const say = useText();
  const name = [stringIn(call, "server"), stringIn(call, "tool")].filter((part) => part !== "").join(".");
  const error = stringIn(call, "error");
  return (
    <details>
      <summary>
        <code>{name}</code> {error !== "" && <strong>{say("toolFailed")}</strong>}
      </summary>
      {error !== "" && <Problem>{error}</Problem>}
      {(["arguments", "result"] as const).map(
        (part) =>
          isFilled(call[part]) && (
            <div key={part}>
              <Note>{say(part)}</Note>
              <JsonText label={`${label} ${name}: ${say(part)}`} value={call[part]} />
            </div>
          ),
      )}
    </details>
  );
}

/** An input: one text, or messages by who said them. */
function Messages({ label, value }: { readonly label: string; readonly value: unknown }): ReactNode {
  const messages = Array.isArray(value) ? (value as readonly unknown[]) : [value];
  const known = messages.filter(isRecord).filter((message) => typeof message["role"] === "string");
  if (known.length === 0 || known.length < messages.length) return <JsonText label={label} value={value} />;
  return known.map((message, index) => (
    <Line key={index}>
      <strong>{stringIn(message, "role")}</strong>
      <Main>
        <JsonText label={`${label} ${index + 1}`} value={message["content"]} />
      </Main>
    </Line>
  ));
}

/** A text as it is, anything else as JSON; the beginning of what is very long. */
export function JsonText({ label, value }: { readonly label: string; readonly value: unknown }): ReactNode {
  const say = useText();
  const text = textOf(value);
  return (
    <>
      <Code label={label}>{text.slice(0, MAX_CHARS)}</Code>
      {text.length > MAX_CHARS && <Note>{say("cut", { shown: MAX_CHARS, count: text.length })}</Note>}
    </>
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

function isFilled(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function stringIn(fields: Fields, name: string): string {
  const value = fields[name];
  return typeof value === "string" ? value : "";
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each): each is string => typeof each === "string") : [];
}

function recordsIn(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
