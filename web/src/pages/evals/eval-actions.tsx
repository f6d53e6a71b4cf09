/** What can be done with an eval. */

import type { Eval, GetEvalResponse } from "@mesh/proto";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useLocation } from "wouter";

import { cancelEval, removeEval, resumeEval, startEval } from "../../api/evals.ts";
import { browserClock } from "../../app/clock.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { CompareButton } from "./compare-button.tsx";
import { nameOf } from "./eval-view.tsx";
import { makeReport } from "./load-log.ts";
import { countsIn, isLive, settled } from "./status.ts";
import { useText } from "./text.ts";

const KEPT_MS = 60_000;

/** The buttons. */
export function EvalActions({ known }: { readonly known: Eval }): ReactNode {
  const say = useText();
  const counts = countsIn(known.counts);
  const done = settled(counts);
  const isOpen = done < (known.counts?.total ?? 0);
  const isOver = !isLive(known.state) && known.state !== "draft";
  const cancel = useChange(known, cancelEval, say("cancelled"));
  const start = useChange(known, startEval, say("started"));
  const resume = useChange(known, resumeEval, say("resumed"));
  const again = useChange(known, (request) => resumeEval({ ...request, retry_errors: true }), say("resumed"));
  return (
    <>
      {known.state === "draft" && (
        <Button icon="play" kind="primary" busy={start.isPending} onClick={() => start.mutate()}>
          {say("startDraft")}
        </Button>
      )}
      {isLive(known.state) && (
        <Button
          icon="stop"
          busy={cancel.isPending}
          disabled={known.state === "cancelling"}
          onClick={() => cancel.mutate()}
        >
          {say(known.state === "cancelling" ? "state_cancelling" : "cancel")}
        </Button>
      )}
      {isOver && isOpen && (
        <Button icon="play" busy={resume.isPending} onClick={() => resume.mutate()}>
          {say("resume")}
        </Button>
      )}
      {isOver && counts.error > 0 && (
        <Button icon="retry" busy={again.isPending} onClick={() => again.mutate()}>
          {say("retryErrors", { count: counts.error })}
        </Button>
      )}
      {done > 0 && <CompareButton />}
      {done > 0 && <ReportButton known={known} />}
      {!isLive(known.state) && <RemoveButton known={known} />}
    </>
  );
}

type Change = (request: { readonly eval: string }) => Promise<{ readonly eval: Eval | undefined }>;

/** A call that changes the eval; what it answers is shown at once. */
function useChange({ id }: Eval, call: Change, done: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => call({ eval: id }),
    onSuccess: (answer) => {
      toast(done);
      if (answer.eval !== undefined) queries.setQueryData<GetEvalResponse>(["eval", id], { eval: answer.eval });
      void queries.invalidateQueries({ queryKey: ["eval-pages"] });
    },
    onError: toastError,
  });
}

function ReportButton({ known }: { readonly known: Eval }): ReactNode {
  const say = useText();
  const [count, setCount] = useState(0);
  const report = useMutation({
    mutationFn: () => makeReport(known, setCount),
    onSuccess: (blob) => download(blob, `${known.id}.jsonl`),
    onError: toastError,
    onSettled: () => setCount(0),
  });
  return (
    <Button icon="download" busy={report.isPending} onClick={() => report.mutate()}>
      {report.isPending ? say("reading", { count }) : say("report")}
    </Button>
  );
}

function download(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  // The browser may begin to read it a moment later.
  browserClock.after(KEPT_MS, () => URL.revokeObjectURL(url));
}

function RemoveButton({ known }: { readonly known: Eval }): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const [, go] = useLocation();
  const [asks, setAsks] = useState(false);
  const remove = useMutation({
    mutationFn: () => removeEval({ eval: known.id }),
    onSuccess: () => {
      toast(say("removed", { name: nameOf(known) }));
      void queries.invalidateQueries({ queryKey: ["eval-pages"] });
      go("/evals");
    },
    onError: toastError,
  });
  return (
    <>
      <Button kind="danger" icon="trash" busy={remove.isPending} onClick={() => setAsks(true)}>
        {say("remove")}
      </Button>
      {asks && (
        <Confirm
          title={say("removeTitle", { name: nameOf(known) })}
          text={say("removeText")}
          action={say("remove")}
          onClose={() => setAsks(false)}
          onYes={() => {
            setAsks(false);
            remove.mutate();
          }}
        />
      )}
    </>
  );
}
