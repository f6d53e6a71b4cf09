/**
 * Components whose code is a chunk of its own.
 *
 * Not React.lazy: a place that has shown what stands in for a component is held back for 300 ms before React lets the next one
 * show, and an opened page has several of them one inside the other.
 */

import { type ComponentType, createElement, type ReactNode, useSyncExternalStore } from "react";

import { Skeleton } from "./state.tsx";

/** What stands in until the code is there: so many grey lines. */
interface LaterOptions {
  /** 0 shows nothing. */
  readonly lines: number;
}

/** A component that loads its code when it is first shown. What fails while loading is thrown, and tried again when shown again. */
export function later<P extends object>(
  load: () => Promise<{ readonly default: ComponentType<P> }>,
  { lines }: LaterOptions = { lines: 6 },
): ComponentType<P> {
  const chunk = new Chunk(load);
  return function Later(props: P): ReactNode {
    const found = useSyncExternalStore(chunk.subscribe, chunk.read);
    if (found !== undefined && "error" in found) {
      chunk.forget();
      throw found.error;
    }
    if (found !== undefined) return createElement(found.component, props);
    chunk.start();
    return lines === 0 ? null : <Skeleton lines={lines} />;
  };
}

type Found<P> = { readonly component: ComponentType<P> } | { readonly error: unknown };

class Chunk<P> {
  readonly #load: () => Promise<{ readonly default: ComponentType<P> }>;
  readonly #listeners = new Set<() => void>();
  #isLoading = false;
  #found: Found<P> | undefined;

  constructor(load: () => Promise<{ readonly default: ComponentType<P> }>) {
    this.#load = load;
  }

  readonly read = (): Found<P> | undefined => this.#found;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Loads it, unless that was begun. */
  start(): void {
    if (this.#isLoading || this.#found !== undefined) return;
    this.#isLoading = true;
    void this.#load().then(
      (module) => this.#settle({ component: module.default }),
      (error: unknown) => this.#settle({ error }),
    );
  }

  /** The next one who shows it loads it anew. */
  forget(): void {
    this.#found = undefined;
  }

  #settle(found: Found<P>): void {
    this.#isLoading = false;
    this.#found = found;
    for (const listener of this.#listeners) listener();
  }
}
