/** The cases of a new eval: pasted, dropped or out of a file, and what is wrong in which line. */

import { type ReactNode, useRef, useState } from "react";

import { useLocale } from "../../i18n/locale.ts";
import { Button } from "../../ui/button.tsx";
import { classes } from "../../ui/class.ts";
import { TextArea } from "../../ui/field.tsx";
import { Line, Note, Problem } from "../../ui/list.tsx";
import { bytesText } from "../../ui/time.tsx";
import { toast } from "../../ui/toast.tsx";
import { type CaseProblem, type CaseText, MAX_TEXT_BYTES } from "./read-cases.ts";
import style from "./evals.module.css";
import { useText } from "./start-text.ts";

/** Where the cases are from; `name` is that of a file, empty for what was pasted. */
export interface CaseSource {
  readonly name: string;
  readonly text: string;
}

/** What the field is given. */
export interface CasesFieldProps {
  readonly source: CaseSource;
  readonly read: CaseText;
  readonly onChange: (source: CaseSource) => void;
  /** There are none, and there should be. */
  readonly missing: boolean;
}

const SHOWN_PROBLEMS = 20;
const SHOWN_CASES = 5;

/** The field. */
export function CasesField({ source, read, onChange, missing }: CasesFieldProps): ReactNode {
  const say = useText();
  const take = useFile(onChange);
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  return (
    <div
      className={classes(style.cases, isOver && style.over)}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        take(event.dataTransfer.files[0]);
      }}
    >
      <input
        ref={input}
        type="file"
        accept=".jsonl,.ndjson,.json,.txt"
        hidden
        aria-label={say("caseFile")}
        onChange={({ target }) => {
          take(target.files?.[0]);
          // The same file may be chosen again.
          target.value = "";
        }}
      />
      {source.name === "" ? (
        <TextArea
          label={say("cases")}
          hint={say("casesHint")}
          error={missing ? say("casesMissing") : undefined}
          rows={6}
          spellCheck={false}
          value={source.text}
          placeholder={'{"id": "greeting", "input": "Hello", "assert": {"type": "contains", "value": "Hi"}}'}
          onChange={({ target }) => onChange({ name: "", text: target.value })}
        />
      ) : (
        <Line>
          <strong>{source.name}</strong>
          <Button icon="close" kind="quiet" onClick={() => onChange({ name: "", text: "" })}>
            {say("otherCases")}
          </Button>
        </Line>
      )}
      <Line>
        <Button icon="upload" onClick={() => input.current?.click()}>
          {say("chooseFile")}
        </Button>
        <span role="status">{read.cases.length > 0 && <Found read={read} />}</span>
      </Line>
      <Problems problems={read.problems} />
      {read.hasFiles && <Note>{say("filesHint")}</Note>}
    </div>
  );
}

function useFile(onChange: (source: CaseSource) => void): (file: File | undefined) => void {
  const say = useText();
  const locale = useLocale((state) => state.locale);
  return (file) => {
    if (file === undefined) return;
    if (file.size > MAX_TEXT_BYTES) {
      toast(say("tooLarge", { name: file.name, limit: bytesText(MAX_TEXT_BYTES, locale) }), { isError: true });
      return;
    }
    file.text().then(
      (text) => onChange({ name: file.name, text }),
      () => toast(say("unreadable", { name: file.name }), { isError: true }),
    );
  };
}

function Found({ read: { cases } }: { readonly read: CaseText }): ReactNode {
  const say = useText();
  const names = cases.slice(0, SHOWN_CASES).map(({ id }) => id);
  const more = cases.length > names.length ? ", …" : "";
  return `${say("found", { count: cases.length })}: ${names.join(", ")}${more}`;
}

function Problems({ problems }: { readonly problems: readonly CaseProblem[] }): ReactNode {
  const say = useText();
  if (problems.length === 0) return null;
  return (
    <div role="alert">
      <ul aria-label={say("problems")}>
        {problems.slice(0, SHOWN_PROBLEMS).map((problem) => (
          <li key={`${problem.line} ${problem.kind}`}>
            <Problem>
              {say("inLine", { line: problem.line })}{" "}
              {say(`problem_${problem.kind}`, "detail" in problem ? { detail: problem.detail } : {})}
            </Problem>
          </li>
        ))}
      </ul>
      {problems.length > SHOWN_PROBLEMS && (
        <Note>{say("moreProblems", { count: problems.length - SHOWN_PROBLEMS })}</Note>
      )}
    </div>
  );
}
