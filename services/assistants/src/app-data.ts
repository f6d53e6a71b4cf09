/** The one implementation of App: data, and the files it came from. */

import type { App, AppFiles } from "./app.ts";

/** Everything of an app but its files. */
export type AppContent = Omit<App, "file" | "bytes">;

/** An app with its files. */
export class AppData implements App {
  readonly assistants: App["assistants"];
  readonly connectors: App["connectors"];
  readonly mcpServers: App["mcpServers"];
  readonly models: App["models"];
  readonly scripts: App["scripts"];
  readonly globalPrompts: App["globalPrompts"];
  readonly globalLocales: NonNullable<App["globalLocales"]>;
  readonly settings: App["settings"];
  readonly uses: App["uses"];
  readonly search: App["search"];
  readonly knowledge: App["knowledge"];
  // Private, so that two apps are equal when what they say is.
  readonly #files: AppFiles;

  constructor(content: AppContent, files: AppFiles) {
    this.assistants = content.assistants;
    this.connectors = content.connectors;
    this.mcpServers = content.mcpServers;
    this.models = content.models;
    this.scripts = content.scripts;
    this.globalPrompts = content.globalPrompts;
    this.globalLocales = content.globalLocales ?? {};
    this.settings = content.settings;
    this.uses = content.uses;
    this.search = content.search;
    this.knowledge = content.knowledge;
    this.#files = files;
  }

  file(path: string): string | undefined {
    const bytes = this.#files.get(path);
    if (bytes === undefined) return undefined;
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      return undefined;
    }
  }

  bytes(path: string): Uint8Array | undefined {
    return this.#files.get(path);
  }
}
