/** Runs an assistant and shows its answer. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";

import { newKey } from "../../api/client.ts";
import { listNodes } from "../../api/nodes.ts";
import { createRun, getRun } from "../../api/runs.ts";
import { Markdown } from "../../markdown/markdown.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField, TextArea } from "../../ui/field.tsx";
import { Form, Line, Note, Problem, Section } from "../../ui/list.tsx";
import { Loaded } from "../../ui/state.tsx";
import { toastError } from "../../ui/toast.tsx";
import { isActive, RunStateBadge } from "../work/run-state.tsx";
import { useText } from "./text.ts";

interface RunBoxProps {
  readonly workspace: string;
  readonly assistant: string;
}

/** The form, and below it the newest run that was started here. */
export function RunBox({ workspace, assistant }: RunBoxProps): ReactNode {
  const say = useText();
  const [input, setInput] = useState("");
  const [node, setNode] = useState("");
  const nodes = useQuery({ queryKey: ["nodes"], queryFn: () => listNodes({}) });
  const start = useMutation({
    mutationFn: () =>
      createRun(
        { workspace, assistant, input, requirements: { node, labels: {}, os: "", arch: "", tools: [] } },
        { idempotencyKey: newKey() },
      ),
    onError: toastError,
  });
  const run = start.data?.run?.id;
  return (
    <Section title={say("run")}>
      <Form onSubmit={() => start.mutate()}>
        <TextArea
          label={say("input")}
          required
          value={input}
          onChange={(event) => setInput(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
          }}
        />
        <Line>
          <SelectField
            label={say("device")}
            hideLabel
            value={node}
            options={[["", say("anyDevice")], ...(nodes.data?.nodes.map(({ id, name }) => [id, name] as const) ?? [])]}
            onChange={(event) => setNode(event.target.value)}
          />
          <Button type="submit" kind="primary" icon="play" busy={start.isPending}>
            {say("start")}
          </Button>
        </Line>
      </Form>
      {run !== undefined && <Answer key={run} id={run} />}
    </Section>
  );
}

function Answer({ id }: { readonly id: string }): ReactNode {
  const say = useText();
  const query = useQuery({ queryKey: ["run", id], queryFn: () => getRun({ run: id }) });
  return (
    <Loaded query={query}>
      {({ run }) =>
        run === undefined ? null : (
          <>
            <Line>
              <RunStateBadge state={run.state} />
              <Note>{run.reason}</Note>
              <Link href={`/runs/${id}`}>{say("showRun")}</Link>
            </Line>
            <div role="status">{isActive(run.state) ? say("working") : say("answer")}</div>
            {run.error !== undefined && <Problem>{run.error.message}</Problem>}
            {run.output !== "" && <Markdown text={run.output} />}
          </>
        )
      }
    </Loaded>
  );
}
