/** Calls `run` once, later. Returns a function that cancels it. */
export type Schedule = (ms: number, run: () => void) => () => void;

export type ConnectionState =
  | "idle" // not opened, or nothing is followed
  | "connecting"
  | "live"
  | "waiting" // for the next attempt
  | "offline" // as `waiting`, and the host has no network
  | "suspended" // the page is hidden
  | "ended" // the task has ended
  | "refused"; // no further attempt until `open`

export interface ConnectionInfo {
  readonly state: ConnectionState;
  /** Why it is waiting or refused; the last status of a task that has ended. */
  readonly reason?: string;
  /** While waiting: time of the next attempt, by `host.now()`. */
  readonly retryAt?: number;
  /** What the transport reported with the reason. */
  readonly cause?: unknown;
}

/** What a transport reports of the stream that it has opened. */
export interface TransportHandlers<Event> {
  event: (event: Event) => void;
  /** The connection has ended and is to be opened again. */
  closed: (reason?: string, cause?: unknown) => void;
  /** Retrying would not help: not found, or not authorized. */
  refused: (reason: string) => void;
  /** Optional: bytes have arrived that are not a complete event yet. */
  activity: () => void;
}

/** The environment of the stream, usually a browser tab. */
export interface StreamHost {
  /** In milliseconds; only differences matter. */
  now(): number;
  isOnline(): boolean;
  isVisible(): boolean;
  /** Calls the listener when one of the two above may have changed, and when the page is restored from a cache. */
  onChange(listener: () => void): () => void;
}

export interface ReconnectingStreamOptions<Request, Event> {
  /** Opens the next stream. Events after `close` are ignored. */
  connect: (request: Request, handlers: TransportHandlers<Event>) => { close(): void };
  schedule: Schedule;
  random: () => number;
  host: StreamHost | undefined;
  /** Returns the next request with the current cursors; undefined if there is nothing to subscribe to. */
  request: () => Request | undefined;
  onEvent: (event: Event, request: Request) => void;
  /** Called when `connection` has changed. */
  onChange: () => void;
}

const defaultHeartbeatMs = 15_000;
/** A stream that lived this long resets the backoff. */
const provenMs = 5_000;
/** How long a hidden page keeps its stream: a browser has six connections to a host, for all tabs. */
const suspendAfterMs = 60_000;

type Timer = "retry" | "silence" | "heard" | "proven" | "suspend";

/**
 * Keeps one stream open: reconnects with backoff, after silence and when the network changes, and closes the stream of a page
 * that stays hidden. The subscriptions and their cursors are up to `request`.
 */
export class ReconnectingStream<Request, Event extends object> {
  readonly #options: ReconnectingStreamOptions<Request, Event>;
  readonly #timers = new Map<Timer, () => void>();
  readonly #stopListening: (() => void) | undefined;
  #connection: ConnectionInfo = { state: "idle" };
  /** The stream that is open now. Reports of earlier ones are ignored. */
  #stream: { close(): void } | undefined;
  /** True while a microtask is pending that will connect. */
  #isOpening = false;
  #isOpen = false;
  #failures = 0;
  #heartbeatMs = defaultHeartbeatMs;
  #heardAt = 0;
  #wasOnline: boolean;

  constructor(options: ReconnectingStreamOptions<Request, Event>) {
    const { host } = options;
    this.#options = options;
    this.#wasOnline = host?.isOnline() ?? true;
    this.#stopListening = host?.onChange(() => this.#onHostChange());
  }

  get connection(): ConnectionInfo {
    return this.#connection;
  }

  /** Connects, also again after a refusal. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#failures = 0;
    this.#suspendIfHidden();
    this.connect();
  }

  /** Reconnects with a new request, once for all changes in this turn. */
  connectSoon(): void {
    if (!this.#mayConnect() || this.#isOpening) return;
    this.#isOpening = true;
    void (async () => {
      await Promise.resolve(); // batches the other changes of this turn
      if (this.#isOpening) this.connect();
    })();
  }

  /** Replaces the open stream. No effect while it is waiting or suspended: the next attempt sends the new request. */
  connect(): void {
    if (this.#mayConnect()) this.#connect();
  }

  /** Reconnects now instead of after the wait. */
  retryNow(): void {
    if (!this.#timers.has("retry")) return;
    this.#cancel("retry");
    this.#connect();
  }

  /** Resets the backoff. */
  succeeded(): void {
    this.#failures = 0;
  }

  /** Closes the stream and cancels the next attempt, because nothing is subscribed to. */
  hangUp(): void {
    this.#hangUp();
    if (this.#isOpen && this.#connection.state !== "suspended") this.#become({ state: "idle" });
  }

  /** Closes the stream until `open`. */
  shut(connection: ConnectionInfo = { state: "idle" }): void {
    this.#isOpen = false;
    this.#hangUp();
    this.#cancel("suspend");
    this.#become(connection);
  }

  close(): void {
    this.shut();
    this.#stopListening?.();
  }

  #mayConnect(): boolean {
    return this.#isOpen && !this.#timers.has("retry") && this.#connection.state !== "suspended";
  }

  #connect(): void {
    this.#hangUp();
    const request = this.#options.request();
    if (request === undefined) return this.#become({ state: "idle" });
    const stream = { close() {} };
    this.#stream = stream;
    this.#heardAt = this.#options.host?.now() ?? 0;
    // A reconnect that only changes the request stays live.
    if (this.#connection.state !== "live") this.#become({ state: "connecting" });
    this.#expectEvents();
    const ifOpen =
      <A extends unknown[]>(handle: (...args: A) => void) =>
      (...args: A) => {
        if (this.#stream === stream) handle(...args);
      };
    const handlers: TransportHandlers<Event> = {
      event: ifOpen((event) => this.#receive(event, request)),
      closed: ifOpen((reason = "the connection was closed", cause?: unknown) =>
        this.#lost(reason, cause),
      ),
      refused: ifOpen((reason) => this.shut({ state: "refused", reason })),
      activity: ifOpen(() => this.#heard()),
    };
    try {
      const opened = this.#options.connect(request, handlers);
      if (this.#stream === stream) stream.close = () => opened.close();
      else opened.close(); // it ended before `connect` returned
    } catch (error) {
      handlers.closed(messageOf(error));
    }
  }

  #receive(event: Event, request: Request): void {
    if ("heartbeat_ms" in event && typeof event.heartbeat_ms === "number")
      this.#heartbeatMs = event.heartbeat_ms;
    this.#heard();
    if (!this.#timers.has("proven") && this.#failures > 0)
      this.#start("proven", provenMs, () => this.succeeded());
    if (this.#connection.state !== "live") this.#become({ state: "live" });
    this.#options.onEvent(event, request);
  }

  #lost(reason: string, cause?: unknown): void {
    this.#hangUp();
    const { host, random } = this.#options;
    const wait = backoff(this.#failures, random());
    this.#failures += 1;
    this.#start("retry", wait, () => this.#connect());
    this.#become({
      state: host === undefined || host.isOnline() ? "waiting" : "offline",
      reason,
      ...(host === undefined ? {} : { retryAt: Math.round(host.now() + wait) }),
      ...(cause === undefined ? {} : { cause }),
    });
  }

  /** Restarts the silence timer, once per batch: a timer per event costs more than the event. */
  #heard(): void {
    this.#heardAt = this.#options.host?.now() ?? 0;
    if (!this.#timers.has("heard")) this.#start("heard", 0, () => this.#expectEvents());
  }

  #expectEvents(): void {
    const silence = 2.5 * this.#heartbeatMs;
    this.#start("silence", silence, () => this.#lost(`nothing was heard for ${silence} ms`));
  }

  #onHostChange(): void {
    const { host } = this.#options;
    if (host === undefined || !this.#isOpen) return;
    this.#suspendIfHidden();
    const { state } = this.#connection;
    const hasTurned = host.isOnline() !== this.#wasOnline;
    this.#wasOnline = host.isOnline();
    if (state === "suspended" && !host.isVisible()) return;
    // After sleep or a change of network, streams may stay open and silent forever.
    const isQuiet = host.now() - this.#heardAt > 1.2 * this.#heartbeatMs;
    if (state === "live" && !hasTurned && !isQuiet) return;
    if (state === "connecting" && this.#stream !== undefined) return;
    this.#failures = 0;
    this.#connect();
  }

  #suspendIfHidden(): void {
    if (this.#options.host?.isVisible() ?? true) return this.#cancel("suspend");
    this.#start("suspend", suspendAfterMs, () => {
      this.#hangUp();
      this.#become({ state: "suspended" });
    });
  }

  #hangUp(): void {
    this.#isOpening = false;
    for (const timer of ["retry", "silence", "heard", "proven"] as const) this.#cancel(timer);
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.close();
  }

  #start(timer: Timer, ms: number, run: () => void): void {
    this.#cancel(timer);
    const cancel = this.#options.schedule(ms, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.set(timer, cancel);
  }

  #cancel(timer: Timer): void {
    this.#timers.get(timer)?.();
    this.#timers.delete(timer);
  }

  #become(connection: ConnectionInfo): void {
    const isSame = connection.state === this.#connection.state && connection.reason === undefined;
    if (isSame) return;
    this.#connection = connection;
    this.#options.onChange();
  }
}

const firstWaitMs = 200;
const longestWaitMs = 10_000;

/** Exponential backoff in milliseconds. `random` (0 to 1) is the jitter. */
export function backoff(failures: number, random: number): number {
  return Math.min(firstWaitMs * 2 ** failures, longestWaitMs) * (0.5 + random / 2);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
