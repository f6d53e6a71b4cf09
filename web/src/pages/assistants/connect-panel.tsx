/** How an app of one's own talks to an assistant. */

import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { createToken } from "../../api/system.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Code, Facts, Note, Section } from "../../ui/list.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { toastError } from "../../ui/toast.tsx";
import { LANGUAGES, snippetOf } from "./snippets.ts";
import { useText } from "./text.ts";

interface ConnectPanelProps {
  readonly workspace: string;
  readonly id: string;
  readonly name: string;
}

/** The panel. */
export function ConnectPanel({ workspace, id, name }: ConnectPanelProps): ReactNode {
  const say = useText();
  const [language, setLanguage] = useState<(typeof LANGUAGES)[number]>("curl");
  const make = useMutation({
    mutationFn: () =>
      createToken({
        name: say("tokenName", { name }).slice(0, 100),
        scopes: ["runs"],
        workspace_ids: [workspace],
        assistants: [id],
      }),
    onError: toastError,
  });
  const secret = make.data?.secret;
  const baseUrl = `${location.origin}/v1`;
  const snippet = snippetOf(language, { baseUrl, model: id, token: secret ?? "YOUR_TOKEN" });
  return (
    <Section title={say("connect")}>
      <Note>{say("connectText")}</Note>
      <Facts
        facts={[
          [say("baseUrl"), <code key="url">{baseUrl}</code>],
          [say("model"), <code key="model">{id}</code>],
        ]}
      />
      {secret === undefined ? (
        <Button icon="lock" busy={make.isPending} onClick={() => make.mutate()}>
          {say("makeToken")}
        </Button>
      ) : (
        <>
          <Note>{say("tokenOnce")}</Note>
          <Code label={say("token")}>{secret}</Code>
          <CopyButton text={secret} />
        </>
      )}
      <Tabs
        label={say("connect")}
        tabs={LANGUAGES.map((one) => ({ id: one, label: say(one) }))}
        current={language}
        onChange={setLanguage}
      >
        <Code label={say(language)}>{snippet}</Code>
        <CopyButton text={snippet} />
      </Tabs>
    </Section>
  );
}
