/** Calls once, later; what it returns takes the call back. */
export type Schedule = (ms: number, run: () => void) => () => void;

export type ConnectionState =
  | "connecting"
  | "live"
  | "waiting" // for its next try
  | "ended" // the task is over
  | "refused"; // nothing can be had from this server

export interface ConnectionInfo {
  readonly state: ConnectionState;
  /** Why it is waiting or refused; the last status of a task that has ended. */
  readonly reason?: string;
}

/** What any stream tells beside its events. */
export interface LineHandlers<Event> {
  event: (event: Event) => void;
  /** The connection is over, which says nothing about what was followed. */
  closed: (reason?: string) => void;
  /** It is of no use to try again: there is no such thing, or it is not for this reader. */
  refused: (reason: string) => void;
}

export interface ReconnectingOptions<Event> {
  schedule: Schedule;
  random: () => number;
  /** Opens the next stream. Nothing that it tells after `close` is heard. */
  connect: (handlers: LineHandlers<Event>) => { close(): void };
  onEvent: (event: Event) => void;
  /** The connection is another one now. */
  onChange: () => void;
}

const firstWaitMs = 200;
const longestWaitMs = 10_000;
const usualHeartbeatMs = 15_000;

/** One connection after the other: each try waits longer, until something came, and silence is an end too. */
export class Reconnecting<Event> {
  readonly #options: ReconnectingOptions<Event>;
  #connection: ConnectionInfo = { state: "connecting" };
  /** What is open now. Whatever an earlier one still says is not heard. */
  #stream: { close(): void } | undefined;
  #cancelRetry: (() => void) | undefined;
  #cancelWatch: (() => void) | undefined;
  #failures = 0;
  /** As the server says it. */
  heartbeatMs = usualHeartbeatMs;

  constructor(options: ReconnectingOptions<Event>) {
    this.#options = options;
  }

  get connection(): ConnectionInfo {
    return this.#connection;
  }

  open(): void {
    const stream = { close() {} };
    this.#stream = stream;
    this.#become({ state: "connecting" });
    this.#watch();
    const ifOpen =
      <A extends unknown[]>(handle: (...args: A) => void) =>
      (...args: A) => {
        if (this.#stream === stream) handle(...args);
      };
    const handlers: LineHandlers<Event> = {
      event: ifOpen((event) => this.#options.onEvent(event)),
      closed: ifOpen((reason = "the connection was closed") => this.retry(reason)),
      refused: ifOpen((reason) => this.stop({ state: "refused", reason })),
    };
    try {
      const opened = this.#options.connect(handlers);
      if (this.#stream === stream) stream.close = () => opened.close();
      else opened.close(); // it was over before it was handed out
    } catch (error) {
      handlers.closed(messageOf(error));
    }
  }

  /** Something came. True: it is the first of this connection. */
  isLiveNow(): boolean {
    if (this.#connection.state === "live") return false;
    this.#become({ state: "live" });
    return true;
  }

  /** What came was worth the connection. */
  succeeded(): void {
    this.#failures = 0;
  }

  /** Starts the wait for the next frame. */
  heard(): void {
    if (this.#stream !== undefined) this.#watch();
  }

  retry(reason: string): void {
    this.#hangUp();
    const longest = Math.min(firstWaitMs * 2 ** this.#failures, longestWaitMs);
    this.#failures += 1;
    this.#become({ state: "waiting", reason });
    this.#cancelRetry = this.#options.schedule(longest * (0.5 + this.#options.random() / 2), () =>
      this.open(),
    );
  }

  /** For good. */
  stop(connection: ConnectionInfo): void {
    this.#hangUp();
    this.#become(connection);
  }

  close(): void {
    this.#cancelRetry?.();
    this.#hangUp();
  }

  #hangUp(): void {
    this.#cancelWatch?.();
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.close();
  }

  #watch(): void {
    this.#cancelWatch?.();
    const silence = 2.5 * this.heartbeatMs;
    this.#cancelWatch = this.#options.schedule(silence, () =>
      this.retry(`nothing was heard for ${silence} ms`),
    );
  }

  #become(connection: ConnectionInfo): void {
    this.#connection = connection;
    this.#options.onChange();
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
