/** Colours for code: twelve languages, loaded when the first coloured block is shown. */

import core from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

import { isRecord } from "../api/error.ts";
import type { CodeSpan } from "./code.tsx";

const LANGUAGES = { bash, css, diff, go, java, javascript, json, python, rust, sql, typescript, xml, yaml };
for (const [name, language] of Object.entries(LANGUAGES)) core.registerLanguage(name, language);

/** The code in coloured pieces; undefined for a language that is not known. */
export function highlight(code: string, language: string): readonly (CodeSpan | string)[] | undefined {
  if (core.getLanguage(language) === undefined) return undefined;
  const result: unknown = core.highlight(code, { language, ignoreIllegals: true });
  // The tree behind the HTML that it would give.
  const emitter = isRecord(result) ? result["_emitter"] : undefined;
  const root = isRecord(emitter) ? emitter["rootNode"] : undefined;
  return childrenOf(root);
}

function childrenOf(node: unknown): (CodeSpan | string)[] | undefined {
  if (!isRecord(node) || !Array.isArray(node["children"])) return undefined;
  return node["children"].flatMap((child: unknown): (CodeSpan | string)[] => {
    if (typeof child === "string") return [child];
    const children = childrenOf(child);
    const scope = isRecord(child) && typeof child["scope"] === "string" ? child["scope"] : undefined;
    return children === undefined ? [] : [{ scope, children }];
  });
}
