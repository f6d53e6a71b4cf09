/** Settings of the person and of the workspace, a part at a time. */

import type { ComponentType, ReactNode } from "react";
import { Link, useParams } from "wouter";

import { Page } from "../../ui/page.tsx";
import { AccountSection } from "./account-section.tsx";
import { AuditSection } from "./audit-section.tsx";
import { ConnectorsSection } from "./connectors-section.tsx";
import { MembersSection } from "./members-section.tsx";
import { NotificationsSection } from "./notifications-section.tsx";
import style from "./settings.module.css";
import { useText } from "./text.ts";
import { TokensSection } from "./tokens-section.tsx";
import { WebhooksSection } from "./webhooks-section.tsx";
import { WorkspaceSection } from "./workspace-section.tsx";

const SECTIONS = {
  account: AccountSection,
  notifications: NotificationsSection,
  workspace: WorkspaceSection,
  members: MembersSection,
  connectors: ConnectorsSection,
  tokens: TokensSection,
  webhooks: WebhooksSection,
  audit: AuditSection,
} as const satisfies Readonly<Record<string, ComponentType>>;

type Name = keyof typeof SECTIONS;
const NAMES: readonly Name[] = [
  "account",
  "notifications",
  "workspace",
  "members",
  "connectors",
  "tokens",
  "webhooks",
  "audit",
];

/** The page. */
export default function SettingsPage(): ReactNode {
  const say = useText();
  const { section } = useParams();
  const name = NAMES.find((one) => one === section) ?? "account";
  const Section = SECTIONS[name];
  return (
    <Page title={`${say("title")}: ${say(name)}`}>
      <nav aria-label={say("sections")} className={style.nav}>
        {NAMES.map((one) => (
          <Link key={one} href={`/settings/${one}`} aria-current={one === name ? "page" : undefined}>
            {say(one)}
          </Link>
        ))}
      </nav>
      <Section />
    </Page>
  );
}
