/**
 * Lets reads that wait at the same moment share one statement.
 *
 * R1  A read sees what was committed before it was asked for: it joins a statement that has not been sent yet, never one
 *     under way.
 * R2  Alone, a read is sent at once.
 */

interface Waiting<K, V> {
  readonly key: K;
  readonly result: Promise<V | undefined>;
  readonly resolve: (value: V | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** More keys than this go into a statement of their own. */
const MAX_KEYS = 500;
/** While so many statements are under way, further reads gather. */
const MAX_RUNNING = 2;

/** Reads rows by key; see above. */
export class SharedRead<K, V> {
  readonly #nameOf: (key: K) => string;
  readonly #load: (keys: readonly K[]) => Promise<ReadonlyMap<string, V>>;
  readonly #waiting = new Map<string, Waiting<K, V>>();
  #running = 0;

  /** `load` gives the found rows by the name of their key. */
  constructor(nameOf: (key: K) => string, load: (keys: readonly K[]) => Promise<ReadonlyMap<string, V>>) {
    this.#nameOf = nameOf;
    this.#load = load;
  }

  /** The row of a key; undefined when there is none. */
  get(key: K): Promise<V | undefined> {
    const name = this.#nameOf(key);
    const known = this.#waiting.get(name);
    if (known !== undefined) return known.result;
    let resolve: (value: V | undefined) => void = () => undefined;
    let reject: (error: unknown) => void = () => undefined;
    const result = new Promise<V | undefined>((fulfil, fail) => {
      resolve = fulfil;
      reject = fail;
    });
    this.#waiting.set(name, { key, result, resolve, reject });
    if (this.#running < MAX_RUNNING) {
      this.#running += 1;
      queueMicrotask(() => void this.#drain());
    }
    return result;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting].slice(0, MAX_KEYS);
      for (const [name] of batch) this.#waiting.delete(name);
      try {
        const found = await this.#load(batch.map(([, waiting]) => waiting.key));
        for (const [name, waiting] of batch) waiting.resolve(found.get(name));
      } catch (error) {
        for (const [, waiting] of batch) waiting.reject(error);
      }
    }
    this.#running -= 1;
  }
}
