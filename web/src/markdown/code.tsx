/** A block of code; colours come once it is done, and only for languages that are known. */

import { memo, type ReactNode, useEffect, useMemo, useState } from "react";

import { CopyButton } from "../ui/copy.tsx";
import style from "./markdown.module.css";
import { useText } from "./text.ts";

/** A coloured piece of code. */
export interface CodeSpan {
  readonly scope: string | undefined;
  readonly children: readonly (CodeSpan | string)[];
}

const MAX_COLOURED_CHARS = 64 * 1024;
const CHUNK_LINES = 100;

/** Code with its language and a button that copies it. */
export const Code = memo(function Code(props: {
  readonly code: string;
  readonly language: string;
  readonly isDone: boolean;
}): ReactNode {
  const { code, language, isDone } = props;
  const say = useText();
  const spans = useColours(code, language, isDone);
  return (
    <figure className={style.codeBox}>
      <figcaption>
        <span>{language}</span>
        {isDone && <CopyButton text={code} label={say("copyCode")} />}
      </figcaption>
      <pre tabIndex={0} aria-label={say("code", { language })}>
        <code>{spans === undefined ? <Plain code={code} /> : spans.map(drawn)}</code>
      </pre>
    </figure>
  );
});

// In chunks: of code that is still growing, only the last one changes.
function Plain({ code }: { readonly code: string }): ReactNode {
  const chunks = useMemo(() => chunksOf(code), [code]);
  return chunks.map((chunk, index) => <Chunk key={index} text={chunk} />);
}

const Chunk = memo(function Chunk({ text }: { readonly text: string }): ReactNode {
  return <span>{text}</span>;
});

function chunksOf(code: string): string[] {
  const chunks: string[] = [];
  let start = 0;
  let lines = 0;
  for (let at = code.indexOf("\n"); at !== -1; at = code.indexOf("\n", at + 1)) {
    lines += 1;
    if (lines % CHUNK_LINES !== 0) continue;
    chunks.push(code.slice(start, at + 1));
    start = at + 1;
  }
  chunks.push(code.slice(start));
  return chunks;
}

function useColours(code: string, language: string, isDone: boolean): readonly (CodeSpan | string)[] | undefined {
  const [spans, setSpans] = useState<readonly (CodeSpan | string)[]>();
  useEffect(() => {
    setSpans(undefined);
    if (!isDone || language === "" || code.length > MAX_COLOURED_CHARS) return undefined;
    let isWanted = true;
    import("./highlight.ts").then(
      ({ highlight }) => isWanted && setSpans(highlight(code, language)),
      // Without colours it is the same code.
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, [code, language, isDone]);
  return spans;
}

function drawn(span: CodeSpan | string, index: number): ReactNode {
  if (typeof span === "string") return span;
  const name = span.scope?.split(".")[0]?.replace("-", "_");
  return (
    <span key={index} className={name === undefined ? undefined : style[`hl_${name}`]}>
      {span.children.map(drawn)}
    </span>
  );
}
