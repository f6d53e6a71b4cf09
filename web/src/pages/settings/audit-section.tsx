/** What was changed, by whom. */

import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { listAudit } from "../../api/system.ts";
import { Button } from "../../ui/button.tsx";
import { Note, Section } from "../../ui/list.tsx";
import { Loaded } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import style from "./settings.module.css";
import { useText } from "./text.ts";

/** The part. */
export function AuditSection(): ReactNode {
  const say = useText();
  const audit = useInfiniteQuery({
    queryKey: ["audit"],
    queryFn: ({ pageParam }) => listAudit({ limit: 50, cursor: pageParam }),
    initialPageParam: "",
    getNextPageParam: ({ next_cursor }) => (next_cursor === "" ? undefined : next_cursor),
    // Always what is there now: the feed does not tell of it.
    staleTime: 0,
  });
  return (
    <Section title={say("audit")}>
      <Note>{say("auditText")}</Note>
      <Loaded query={audit} lines={8}>
        {({ pages }) => {
          const entries = pages.flatMap((page) => page.entries);
          if (entries.length === 0) return <Note>{say("noAudit")}</Note>;
          return (
            <table className={style.table}>
              <thead>
                <tr>
                  {(["at", "actor", "action", "object", "detail"] as const).map((name) => (
                    <th key={name} scope="col">
                      {say(name)}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {entries.map(({ id, at, actor, action, object, detail_json }) => (
                  <tr key={id}>
                    <td>
                      <Time at={at} exact />
                    </td>
                    <td>{actor}</td>
                    <td>{action}</td>
                    <td>{object}</td>
                    <td>{detail_json !== "" && detail_json !== "{}" && <code>{detail_json}</code>}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          );
        }}
      </Loaded>
      {audit.hasNextPage && (
        <Button busy={audit.isFetchingNextPage} onClick={() => void audit.fetchNextPage()}>
          {say("more")}
        </Button>
      )}
    </Section>
  );
}
