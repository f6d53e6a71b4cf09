/** Which wire protocol a connector's type means. */

import { type Clock, MeshError } from "@mesh/kernel";

import type { StreamChat } from "./chat.ts";
import { protocolNamed } from "./connector-model.ts";
import { createDemoChat } from "./demo-chat.ts";
import { createProviderChat } from "./provider-chat.ts";
import { createProviders } from "./providers.ts";
import type { Env } from "./wire.ts";

/** What the protocols need from outside. */
export interface ChatRegistryOptions {
  readonly clock: Clock;
  readonly fetch?: typeof fetch;
  /** For protocols that read credentials from the environment, such as Bedrock. */
  readonly env?: Env;
  /** Randomness in [0, 1), for the jitter of retries. */
  readonly random?: () => number;
}

/** Finds a protocol by connector type; throws `unimplemented` for one that is not known. */
export type ChatRegistry = (type: string) => StreamChat;

/** Makes the registry of every protocol this version speaks. */
export function createChatRegistry(options: ChatRegistryOptions): ChatRegistry {
  const { clock, random = (): number => 0.5 } = options;
  const plain: ReadonlyMap<string, StreamChat> = new Map([["demo", createDemoChat(options)]]);
  const other = createProviderChat({ clock, random, providers: createProviders(options) });
  return (type) => {
    const protocol = plain.get(type);
    if (protocol !== undefined) return protocol;
    if (protocolNamed(type) !== undefined) return other;
    throw new MeshError(
      "unimplemented",
      `connector type ${type} is not supported; use openai, anthropic, gemini, vertex, azure, bedrock or the name of a vendor`,
    );
  };
}
