/** Ctrl-C and its relatives as events; while nobody listens, the process ends as the system would end it. */

/** Signals that ask a command to stop. */
export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** Asks to stop; `count` is 1 for the first. */
export type InterruptListener = (signal: StopSignal, count: number) => void;

/** Source of interrupts. */
export interface Interrupts {
  /** Calls `listener` until the returned function is called. */
  listen(listener: InterruptListener): () => void;
}

/** The part of a process this needs. */
export interface SignalSource {
  on(signal: StopSignal, listener: () => void): unknown;
  off(signal: StopSignal, listener: () => void): unknown;
}

const SIGNALS: readonly StopSignal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Interrupts of a process. */
export function interruptsOf(source: SignalSource): Interrupts {
  return {
    listen(listener) {
      let count = 0;
      const handlers = SIGNALS.map((signal) => {
        const handler = (): void => {
          count += 1;
          listener(signal, count);
        };
        source.on(signal, handler);
        return { signal, handler };
      });
      return () => {
        for (const { signal, handler } of handlers) source.off(signal, handler);
      };
    },
  };
}

const EXIT_CODES: Readonly<Record<StopSignal, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

/** The exit code a shell reports for a command that a signal ended. */
export function exitCodeOf(signal: StopSignal): number {
  return EXIT_CODES[signal];
}
