/** One finished block of Markdown, drawn once. */

import { lexer, type Token, type Tokens } from "marked";
import { Fragment, memo, type ReactNode, useMemo } from "react";

import { Code } from "./code.tsx";
import { inline } from "./inline.tsx";
import style from "./markdown.module.css";

/** A block; the same source is lexed once. */
export const Block = memo(function Block({ source }: { readonly source: string }): ReactNode {
  return useMemo(() => blocks(lexed(source)), [source]);
});

function lexed(source: string): readonly Token[] {
  try {
    return lexer(source, { gfm: true });
  } catch {
    // A text that the lexer cannot read is still a text.
    return [{ type: "paragraph", raw: source, text: source, tokens: [{ type: "text", raw: source, text: source }] }];
  }
}

function blocks(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, index) => <Fragment key={index}>{block(token)}</Fragment>);
}

function block(token: Token): ReactNode {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "paragraph":
      return <p>{inline(token.tokens)}</p>;
    case "heading":
      // One level for all: the page has its own order of headings, and a text must not disturb it.
      return <h3 className={style[`h${Math.min(4, (token as Tokens.Heading).depth)}`]}>{inline(token.tokens)}</h3>;
    case "blockquote":
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case "hr":
      return <hr />;
    case "code":
      return <Code code={(token as Tokens.Code).text} language={(token as Tokens.Code).lang ?? ""} isDone />;
    case "list":
      return list(token as Tokens.List);
    case "table":
      return table(token as Tokens.Table);
    case "text":
      return "tokens" in token && token.tokens !== undefined ? inline(token.tokens) : token.raw;
    default:
      return <p>{token.raw}</p>;
  }
}

function list({ ordered, start, items }: Tokens.List): ReactNode {
  const children = items.map((item, index) => (
    <li key={index} className={item.task ? style.todo : undefined}>
      {item.task && (
        <input type="checkbox" checked={item.checked === true} disabled aria-label={item.text.slice(0, 80)} />
      )}
      {blocks(item.tokens.filter(({ type }) => type !== "checkbox"))}
    </li>
  ));
  return ordered ? <ol start={start === "" ? 1 : start}>{children}</ol> : <ul>{children}</ul>;
}

function table({ header, rows, align }: Tokens.Table): ReactNode {
  const side = (index: number): string | undefined => style[`align_${align[index] ?? "none"}`];
  return (
    // Wide tables scroll by themselves, also by keys.
    <div
      className={style.tableBox}
      role="group"
      tabIndex={0}
      aria-label={header
        .map(({ text }) => text)
        .join(", ")
        .slice(0, 120)}
    >
      <table>
        <thead>
          <tr>
            {header.map((cell, index) => (
              <th key={index} scope="col" className={side(index)}>
                {inline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, index) => (
                <td key={index} className={side(index)}>
                  {inline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
