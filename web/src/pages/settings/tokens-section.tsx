/** API tokens: made, listed and revoked. */

import type { Token } from "@mesh/proto";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { listTokens, revokeToken } from "../../api/system.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { Line, Main, Note, Row, Rows, Section } from "../../ui/list.tsx";
import { Badge, Loaded } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { toastError } from "../../ui/toast.tsx";
import { useText } from "./access-text.ts";
import { TokenDialog } from "./token-dialog.tsx";

/** The part. */
export function TokensSection(): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const [isMaking, setMaking] = useState(false);
  const [asks, setAsks] = useState<Token>();
  const tokens = useQuery({ queryKey: ["tokens"], queryFn: () => listTokens({}) });
  const revoke = useMutation({
    mutationFn: (token: string) => revokeToken({ token }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["tokens"] }),
    onError: toastError,
  });
  return (
    <Section
      title={say("tokens")}
      actions={
        <Button icon="plus" kind="primary" onClick={() => setMaking(true)}>
          {say("addToken")}
        </Button>
      }
    >
      <Note>{say("tokensText")}</Note>
      <Loaded query={tokens}>
        {(answer) =>
          answer.tokens.length === 0 ? (
            <Note>{say("noTokens")}</Note>
          ) : (
            <Rows label={say("tokens")}>
              {answer.tokens.map((token) => (
                <TokenRow key={token.id} token={token} onRevoke={() => setAsks(token)} />
              ))}
            </Rows>
          )
        }
      </Loaded>
      {isMaking && <TokenDialog onClose={() => setMaking(false)} />}
      {asks !== undefined && (
        <Confirm
          title={say("revokeTitle", { name: asks.name })}
          text={say("revokeText")}
          action={say("revoke")}
          onClose={() => setAsks(undefined)}
          onYes={() => {
            revoke.mutate(asks.id);
            setAsks(undefined);
          }}
        />
      )}
    </Section>
  );
}

function TokenRow({ token, onRevoke }: { readonly token: Token; readonly onRevoke: () => void }): ReactNode {
  const say = useText();
  const { name, user, scopes, assistants, expires_at, last_used_at } = token;
  return (
    <Row>
      <Main>
        <Line>
          <strong>{name}</strong>
          {scopes.length === 0 ? (
            <Badge>{say("allScopes")}</Badge>
          ) : (
            scopes.map((scope) => <Badge key={scope}>{scope}</Badge>)
          )}
          {assistants.map((assistant) => (
            <Badge key={assistant} icon="agent">
              {assistant}
            </Badge>
          ))}
        </Line>
        <Note>
          {user}
          {" · "}
          {last_used_at === undefined ? (
            say("neverUsed")
          ) : (
            <>
              {say("lastUsed")} <Time at={last_used_at} />
            </>
          )}
          {expires_at !== undefined && (
            <>
              {" · "}
              {say("until")} <Time at={expires_at} exact />
            </>
          )}
        </Note>
      </Main>
      <Button kind="danger" aria-label={say("revokeNamed", { name })} onClick={onRevoke}>
        {say("revoke")}
      </Button>
    </Row>
  );
}
