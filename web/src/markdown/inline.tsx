/**
 * Tokens of the Markdown lexer as React elements.
 *
 * M1  Nothing of a text becomes HTML: tags are shown as they are written.
 * M2  Addresses are followed only with the schemes of the list; all others are shown as text.
 */

import type { Token, Tokens } from "marked";
import { Fragment, type ReactNode } from "react";

const SCHEMES = /^(https?:|mailto:)/i;

/** The address if it may be followed: with an allowed scheme, or a path of this page. */
export function safeHref(href: string): string | undefined {
  // Browsers drop these inside of addresses: without them, a scheme is what it seems.
  const clean = href.replaceAll(/[\p{Cc}\s]/gu, "");
  if (SCHEMES.test(clean)) return clean;
  return /^(\/(?![/\\])|#)/.test(clean) ? clean : undefined;
}

/** What stands inside of a line. */
export function inline(tokens: readonly Token[] | undefined): ReactNode {
  return tokens?.map((token, index) => <Fragment key={index}>{one(token)}</Fragment>);
}

function one(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "codespan":
      return <code>{textOf(token)}</code>;
    case "br":
      return <br />;
    case "link":
      return link(token as Tokens.Link);
    case "image":
      return link({ ...(token as Tokens.Image), type: "link", tokens: [] });
    case "escape":
      return textOf(token);
    case "text":
      return "tokens" in token && token.tokens !== undefined ? inline(token.tokens) : textOf(token);
    default:
      return token.raw;
  }
}

// Images of other hosts would tell them who reads: they are links.
function link({ href, text, tokens }: Tokens.Link): ReactNode {
  const address = safeHref(href);
  const shown = tokens.length > 0 ? inline(tokens) : text === "" ? href : text;
  if (address === undefined) return <>{shown}</>;
  const isElsewhere = SCHEMES.test(address);
  return (
    <a href={address} {...(isElsewhere ? { target: "_blank", rel: "noopener noreferrer nofollow" } : {})}>
      {shown}
    </a>
  );
}

function textOf(token: Token): string {
  return "text" in token && typeof token.text === "string" ? token.text : token.raw;
}
