/** For a person who is in no workspace: makes one. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { createWorkspace } from "../api/workspaces.ts";
import { Button } from "../ui/button.tsx";
import { TextField } from "../ui/field.tsx";
import { Page } from "../ui/page.tsx";
import { Empty } from "../ui/state.tsx";
import { toastError } from "../ui/toast.tsx";
import { useText } from "./text.ts";
import { useWorkspaceChoice } from "./workspace.ts";

/** A form with one field. */
export function FirstWorkspace(): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const create = useMutation({
    mutationFn: () => createWorkspace({ name }),
    onSuccess: ({ workspace }) => {
      if (workspace !== undefined) useWorkspaceChoice.getState().choose(workspace.id);
      return queries.invalidateQueries({ queryKey: ["workspaces"] });
    },
    onError: toastError,
  });
  return (
    <main>
      <Page title={say("noWorkspace")}>
        <Empty icon="folder" title={say("noWorkspace")} text={say("noWorkspaceText")}>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              create.mutate();
            }}
          >
            <TextField
              label={say("workspaceName")}
              hint={say("workspaceHint")}
              value={name}
              required
              pattern="[a-z0-9][a-z0-9\-]{0,62}"
              onChange={(event) => setName(event.target.value)}
            />
            <Button type="submit" kind="primary" busy={create.isPending}>
              {say("create")}
            </Button>
          </form>
        </Empty>
      </Page>
    </main>
  );
}
