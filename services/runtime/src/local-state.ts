/**
 * State of one workspace in this process, for runs without a mesh: memory, stores and chats live as long as it does; models and
 * documents come from whom it is given.
 */

import { type Clock, type Json, MeshError } from "@mesh/kernel";
import { LocalMemory } from "@mesh/memory";

import type { StatePort, StateService } from "./state-port.ts";

/** Whose run asks. */
export interface LocalScope {
  readonly workspaceId: string;
  readonly userId: string;
  readonly chatId?: string;
}

/** Answers the questions of one further service. */
export type LocalService = (scope: LocalScope, method: string, args: readonly Json[]) => Promise<Json | undefined>;

/** See the file comment. */
export class LocalState {
  readonly #clock: Pick<Clock, "now">;
  readonly #services: Readonly<Partial<Record<StateService, LocalService>>>;
  readonly #memories = new Map<string, LocalMemory>();
  readonly #chats = new Map<string, Json[]>();

  constructor(clock: Pick<Clock, "now">, services: Readonly<Partial<Record<StateService, LocalService>>> = {}) {
    this.#clock = clock;
    this.#services = services;
  }

  /** The state as one run sees it. */
  for(scope: LocalScope): StatePort {
    return {
      call: async (service, method, args) => {
        switch (service) {
          case "memory":
            return this.#memory(ownerOf(scope, args[0])).call(method, args.slice(1));
          case "store":
            return this.#memory(["store", scope.workspaceId, args[0] ?? null]).call(method, args.slice(1));
          case "chat":
            return this.#chat(scope, method, args[0]);
          default: {
            const answer = this.#services[service];
            if (answer !== undefined) return answer(scope, method, args);
            throw new MeshError("failed_precondition", `a local run has no ${service}`);
          }
        }
      },
    };
  }

  #memory(key: Json): LocalMemory {
    const name = JSON.stringify(key);
    const memory = this.#memories.get(name) ?? new LocalMemory(() => this.#clock.now());
    this.#memories.set(name, memory);
    return memory;
  }

  #chat(scope: LocalScope, method: string, messages: Json | undefined): Json | undefined {
    const { workspaceId, userId, chatId } = scope;
    if (chatId === undefined) throw new MeshError("failed_precondition", "this run belongs to no chat");
    const name = JSON.stringify([workspaceId, userId, chatId]);
    const chat = this.#chats.get(name) ?? [];
    this.#chats.set(name, chat);
    if (method === "History") return chat.slice(-HISTORY);
    if (method === "Append" && Array.isArray(messages)) {
      chat.push(...(messages as readonly Json[]));
      return undefined;
    }
    throw new MeshError("not_found", `a chat has no method ${method}`);
  }
}

const HISTORY = 20;

function ownerOf({ workspaceId, userId, chatId }: LocalScope, space: Json | undefined): Json {
  switch (space) {
    case "user":
      return [space, workspaceId, userId];
    case "team":
      return [space, workspaceId];
    case "chat":
      if (chatId === undefined) throw new MeshError("failed_precondition", "this run belongs to no chat");
      return [space, workspaceId, userId, chatId];
    default:
      throw new MeshError("invalid_argument", `there is no memory space ${JSON.stringify(space)}`);
  }
}
