/** One device. */

import type { Node } from "@mesh/proto";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useLocation, useParams } from "wouter";

import { getNode, removeNode, undrainNode } from "../../api/nodes.ts";
import { listRuns } from "../../api/runs.ts";
import { listWorkspaces } from "../../api/workspaces.ts";
import { useWorkspace } from "../../app/workspace.ts";
import { useLocale } from "../../i18n/locale.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Facts, Line, Note, Section } from "../../ui/list.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import { bytesText, Time } from "../../ui/time.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { RunRows } from "../runs/run-rows.tsx";
import { DrainDialog, EditDeviceDialog } from "./device-dialogs.tsx";
import { DeviceBadges, LabelBadges, LastSeen, LoadText } from "./device-view.tsx";
import { useText } from "./text.ts";

/** The page. */
export default function DevicePage(): ReactNode {
  const say = useText();
  const { device = "" } = useParams();
  const node = useQuery({ queryKey: ["node", device], queryFn: () => getNode({ node: device }) });
  const known = node.data?.node;
  return (
    <Page
      title={known?.name ?? say("title")}
      actions={
        <>
          <LinkButton href="/devices" icon="back" kind="quiet">
            {say("toList")}
          </LinkButton>
          {known !== undefined && <DeviceActions node={known} />}
        </>
      }
    >
      <Loaded query={node} lines={6}>
        {() => (known === undefined ? <Empty icon="devices" title={say("notFound")} /> : <Details node={known} />)}
      </Loaded>
    </Page>
  );
}

function DeviceActions({ node }: { readonly node: Node }): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const [, go] = useLocation();
  const [open, setOpen] = useState<"edit" | "drain" | "remove">();
  const close = (): void => setOpen(undefined);
  const again = (): Promise<void> =>
    queries.invalidateQueries({ predicate: ({ queryKey: [key] }) => key === "node" || key === "nodes" });
  const undrain = useMutation({
    mutationFn: () => undrainNode({ node: node.id }),
    onSuccess: () => {
      toast(say("undrained", { name: node.name }));
      return again();
    },
    onError: toastError,
  });
  const remove = useMutation({
    mutationFn: () => removeNode({ node: node.id }),
    onSuccess: () => {
      toast(say("removed", { name: node.name }));
      void queries.invalidateQueries({ queryKey: ["nodes"] });
      go("/devices");
    },
    onError: toastError,
  });
  return (
    <>
      <Button icon="edit" onClick={() => setOpen("edit")}>
        {say("edit")}
      </Button>
      {node.draining ? (
        <Button icon="play" busy={undrain.isPending} onClick={() => undrain.mutate()}>
          {say("undrain")}
        </Button>
      ) : (
        <Button icon="stop" onClick={() => setOpen("drain")}>
          {say("drain")}
        </Button>
      )}
      <Button kind="danger" icon="trash" busy={remove.isPending} onClick={() => setOpen("remove")}>
        {say("remove")}
      </Button>
      {open === "edit" && <EditDeviceDialog node={node} onClose={close} onDone={again} />}
      {open === "drain" && <DrainDialog node={node} onClose={close} onDone={again} />}
      {open === "remove" && (
        <Confirm
          title={say("removeTitle", { name: node.name })}
          text={say("removeText", { count: node.slots_used })}
          action={say("remove")}
          onClose={close}
          onYes={() => {
            close();
            remove.mutate();
          }}
        />
      )}
    </>
  );
}

function Details({ node }: { readonly node: Node }): ReactNode {
  const say = useText();
  const tools = Object.entries(node.facts?.tools ?? {});
  return (
    <>
      <Line>
        <DeviceBadges node={node} />
        <LabelBadges labels={node.labels} />
      </Line>
      {node.reason !== "" && <p>{say("takesNone", { reason: node.reason })}</p>}
      {node.drain_deadline_at !== undefined && (
        <p>
          {say("deadline")} <Time at={node.drain_deadline_at} exact />
        </p>
      )}
      <Section title={say("details")}>
        <DeviceFacts node={node} />
      </Section>
      <Section title={say("tools")}>
        {tools.length === 0 ? (
          <Note>{say("noTools")}</Note>
        ) : (
          <Facts facts={tools.map(([name, path]) => [name, <code key={name}>{path}</code>] as const)} />
        )}
      </Section>
      <DeviceRuns node={node} />
    </>
  );
}

function DeviceFacts({ node }: { readonly node: Node }): ReactNode {
  const say = useText();
  const locale = useLocale((state) => state.locale);
  const workspaces = useQuery({ queryKey: ["workspaces"], queryFn: () => listWorkspaces({}) });
  const { facts, load } = node;
  const nameOf = (id: string): string => workspaces.data?.workspaces.find((one) => one.id === id)?.name ?? id;
  const number = new Intl.NumberFormat(locale, { style: "unit", unit: "millisecond" });
  return (
    <Facts
      facts={[
        [say("slots"), say("slotsUsed", { used: node.slots_used, total: node.slots })],
        [say("load"), load !== undefined && <LoadText load={load} />],
        [say("lag"), load !== undefined && number.format(load.loop_lag_ms)],
        [say("unsent"), load !== undefined && bytesText(load.journal_unacked_bytes, locale)],
        [say("lastSeen"), <LastSeen key="seen" node={node} />],
        [say("system"), facts === undefined ? "" : `${facts.os} ${facts.arch}, ${say("cpus", { count: facts.cpus })}`],
        [say("memory"), facts === undefined ? "" : bytesText(facts.memory_bytes, locale)],
        [say("hostname"), facts?.hostname],
        [say("version"), node.version],
        [
          say("serves"),
          node.workspace_ids.length === 0 ? say("allWorkspaces") : node.workspace_ids.map(nameOf).join(", "),
        ],
        [say("joined"), <Time key="joined" at={node.created_at} exact />],
      ]}
    />
  );
}

function DeviceRuns({ node }: { readonly node: Node }): ReactNode {
  const say = useText();
  const workspace = useWorkspace();
  const runs = useQuery({
    queryKey: ["runs", workspace, { node: node.id }],
    queryFn: () => listRuns({ workspace, node: node.id, limit: 20 }),
  });
  return (
    <Section title={say("runs")}>
      <Loaded query={runs}>
        {(answer) =>
          answer.runs.length === 0 ? <Note>{say("noRuns")}</Note> : <RunRows label={say("runs")} runs={answer.runs} />
        }
      </Loaded>
    </Section>
  );
}
