/** Which wire protocol a connector's type means. */

import { type Clock, MeshError } from "@mesh/kernel";

import type { StreamChat } from "./chat.ts";
import { createDemoChat } from "./demo-chat.ts";
import { createOpenAiChat } from "./openai-chat.ts";

/** What the protocols need from outside. */
export interface ChatRegistryOptions {
  readonly clock: Clock;
  readonly fetch?: typeof fetch;
}

/** Finds a protocol by connector type; throws `unimplemented` for one that is not known. */
export type ChatRegistry = (type: string) => StreamChat;

/** Makes the registry of every protocol this version speaks. */
export function createChatRegistry(options: ChatRegistryOptions): ChatRegistry {
  const protocols: ReadonlyMap<string, StreamChat> = new Map([
    ["openai", createOpenAiChat(options)],
    ["demo", createDemoChat(options)],
  ]);
  return (type) => {
    const protocol = protocols.get(type);
    if (protocol !== undefined) return protocol;
    throw new MeshError(
      "unimplemented",
      `connector type ${type} is not supported yet; supported: ${[...protocols.keys()].join(", ")}`,
    );
  };
}
