/** What came of a task: files, documents and links. */

import type { Task, TaskOutput } from "@mesh/proto";
import type { ReactNode } from "react";
import { Link } from "wouter";

import { safeHref } from "../../markdown/inline.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Empty } from "../../ui/state.tsx";
import style from "./task.module.css";
import { useText } from "./text.ts";

/** The tab. */
export function OutputsTab({ task }: { readonly task: Task }): ReactNode {
  const say = useText();
  if (task.outputs.length === 0) {
    return <Empty icon="file" title={say("noOutputs")} text={say("noOutputsText")} />;
  }
  return (
    <ul className={style.list}>
      {task.outputs.map((output, index) => (
        <li key={index} className={style.run}>
          <div className={style.row}>
            <Icon name={output.kind === "link" ? "link" : output.kind === "document" ? "document" : "file"} />
            <OutputLink output={output} workspace={task.workspace_id} />
            {output.node !== undefined && output.node !== "" && <span className={style.note}>{output.node}</span>}
          </div>
        </li>
      ))}
    </ul>
  );
}

function OutputLink({ output, workspace }: { readonly output: TaskOutput; readonly workspace: string }): ReactNode {
  const { kind, target, node } = output;
  const title = output.title === "" ? target : output.title;
  if (kind === "document") return <Link href={`/documents/${encodeURIComponent(target)}`}>{title}</Link>;
  if (kind === "link") {
    const href = safeHref(target);
    if (href === undefined) return <span>{title}</span>;
    return (
      <a href={href} target="_blank" rel="noopener noreferrer">
        {title}
      </a>
    );
  }
  const query = new URLSearchParams({ path: target, ...(node === undefined || node === "" ? {} : { node }) });
  return (
    <a href={`/v1/workspaces/${encodeURIComponent(workspace)}/files/content?${query.toString()}`} download>
      {title}
    </a>
  );
}
