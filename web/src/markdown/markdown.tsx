/** A Markdown text, also one that is still being said. */

import { memo, type ReactNode, useMemo, useRef } from "react";

import { Block } from "./block.tsx";
import { blocksOf, MarkdownBlocks } from "./blocks.ts";
import { Code } from "./code.tsx";
import style from "./markdown.module.css";

/** A whole text. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }): ReactNode {
  const blocks = useMemo(() => blocksOf(text), [text]);
  return (
    <div className={style.markdown}>
      <DoneBlocks blocks={blocks} count={blocks.length} />
    </div>
  );
});

/** A text that grows at its end: what is done is never looked at again. */
export function GrowingMarkdown({ text }: { readonly text: string }): ReactNode {
  const state = useRef({ blocks: new MarkdownBlocks(), length: 0 });
  if (text.length < state.current.length) state.current = { blocks: new MarkdownBlocks(), length: 0 };
  if (text.length > state.current.length) {
    state.current.blocks.push(text.slice(state.current.length));
    state.current.length = text.length;
  }
  const { done, tail, openCode } = state.current.blocks;
  return (
    <div className={style.markdown}>
      <DoneBlocks blocks={done} count={done.length} />
      {openCode === undefined ? (
        <Block source={tail} />
      ) : (
        <Code code={openCode.code} language={openCode.language} isDone={false} />
      )}
    </div>
  );
}

const GROUP = 20;

// In groups: a list of thousands would be compared item by item with every piece.
const DoneBlocks = memo(function DoneBlocks(props: {
  readonly blocks: readonly string[];
  readonly count: number;
}): ReactNode {
  const { blocks, count } = props;
  const groups = Array.from({ length: Math.ceil(count / GROUP) }, (_, index) => {
    const end = Math.min(count, (index + 1) * GROUP);
    return <BlockGroup key={index} blocks={blocks} start={index * GROUP} end={end} />;
  });
  return groups;
});

const BlockGroup = memo(function BlockGroup(props: {
  readonly blocks: readonly string[];
  readonly start: number;
  readonly end: number;
}): ReactNode {
  const { blocks, start, end } = props;
  return (
    <div className={style.group}>
      {blocks.slice(start, end).map((source, index) => (
        <Block key={start + index} source={source} />
      ))}
    </div>
  );
});
