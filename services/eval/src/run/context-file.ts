/** Reads what a context file says of the users of an eval. Pure. */

import { isObject, type JsonObject, MeshError } from "@mesh/kernel";

import type { ContextFile } from "./identity.ts";

/** The context of an object {chat_id, authorized, metadata, client, locale, referer}; `what` names it in errors. */
export function contextOf(value: JsonObject, what: string): ContextFile {
  const record = (key: string): JsonObject => {
    const field = value[key];
    if (field === undefined || isObject(field)) return field ?? {};
    throw new MeshError("invalid_argument", `${what}: ${key} must be an object`);
  };
  const text = (key: string): string | undefined => {
    const field = value[key];
    if (field === undefined || typeof field === "string") return field;
    throw new MeshError("invalid_argument", `${what}: ${key} must be a text`);
  };
  const [chatId, locale, referer] = [text("chat_id"), text("locale"), text("referer")];
  return {
    authorized: record("authorized"),
    metadata: record("metadata"),
    ...(Object.hasOwn(value, "client") ? { client: record("client") } : {}),
    ...(chatId === undefined ? {} : { chatId }),
    ...(locale === undefined ? {} : { locale }),
    ...(referer === undefined ? {} : { referer }),
  };
}
