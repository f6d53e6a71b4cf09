/** A text with numbered lines. */

import { type ReactNode, useEffect, useMemo, useRef } from "react";

import style from "./documents.module.css";

/** Lines from and to, both included, from 1. */
export type LineRange = readonly [from: number, to: number];

/** Reads `12-20` or `12`. */
export function rangeOf(text: string): LineRange | undefined {
  const match = /^(\d{1,7})(?:-(\d{1,7}))?$/.exec(text);
  if (match === null) return undefined;
  const from = Number(match[1]);
  return [from, Math.max(from, Number(match[2] ?? from))];
}

/** The text; the lines of the range are marked, and the first of them is brought into sight. */
export function LinedText({
  label,
  text,
  range,
}: {
  readonly label: string;
  readonly text: string;
  readonly range?: LineRange | undefined;
}): ReactNode {
  const box = useRef<HTMLPreElement>(null);
  const lines = useMemo(() => text.split("\n"), [text]);
  const [from, to] = range ?? [0, -1];
  useEffect(() => {
    const element = box.current;
    const line = element?.children[from - 1];
    if (element !== null && line instanceof HTMLElement) element.scrollTop = line.offsetTop - element.offsetTop - 40;
  }, [from, lines]);
  return (
    <pre ref={box} className={style.text} tabIndex={0} role="region" aria-label={label}>
      {lines.map((line, index) => {
        const isFound = index + 1 >= from && index + 1 <= to;
        return (
          <span key={index} className={isFound ? style.found : style.line} data-line={index + 1}>
            {line}
          </span>
        );
      })}
    </pre>
  );
}
