/** Calls `run` once, later. Returns a function that cancels it. */
export type Schedule = (ms: number, run: () => void) => () => void;

export type ConnectionState =
  | "idle" // not opened, or there are no subscriptions
  | "connecting"
  | "live"
  | "waiting" // for the next attempt
  | "offline" // like `waiting`, but the host has no network
  | "suspended" // the page is hidden
  | "ended" // the task has ended
  | "rejected"; // no further attempt until `open`

export interface ConnectionInfo {
  readonly state: ConnectionState;
  /** Why the connection is waiting or rejected; for a task that has ended, its status. */
  readonly reason?: string;
  /** While waiting: time of the next attempt, by `host.now()`. */
  readonly retryAt?: number;
  /** What the transport reported with the reason. */
  readonly cause?: unknown;
}

/** Callbacks through which a transport reports on the stream that it has opened. */
export interface TransportHandlers<Event> {
  onEvent: (event: Event) => void;
  /** The connection has ended and should be reopened. */
  onClosed: (reason?: string, cause?: unknown) => void;
  /** Retrying would not help: not found, or not authorized. */
  onRejected: (reason: string) => void;
  /** Bytes have arrived that may not be a complete event yet. Calling it is optional. */
  onActivity: () => void;
}

/** The environment of the stream, usually a browser tab. */
export interface StreamHost {
  /** In milliseconds; only differences matter. */
  now(): number;
  isOnline(): boolean;
  isVisible(): boolean;
  /**
   * Calls the listener when `isOnline` or `isVisible` may have changed, and when the page is restored from the back/forward
   * cache.
   */
  onChange(listener: () => void): () => void;
}

export interface ReconnectingStreamOptions<Request, Event> {
  /** Opens the next stream. Events after `close` are ignored. */
  connect: (request: Request, handlers: TransportHandlers<Event>) => { close(): void };
  schedule: Schedule;
  random: () => number;
  host: StreamHost | undefined;
  /** Returns the next request with the current cursors; undefined if there are no subscriptions. */
  buildRequest: () => Request | undefined;
  onEvent: (event: Event, request: Request) => void;
  /** Called when `connection` has changed. */
  onChange: () => void;
}

const defaultHeartbeatMs = 15_000;
/** A stream that stays open this long resets the backoff. */
const stableAfterMs = 5_000;
/** A page closes its stream after being hidden for this long: a browser allows only six connections per host across all tabs. */
const suspendAfterMs = 60_000;

type TimerName = "retry" | "silence" | "activity" | "stable" | "suspend";

/**
 * Keeps one stream open: reconnects with backoff, after silence and when the network changes, and closes the stream of a page
 * that stays hidden. `buildRequest` provides the subscriptions and their cursors.
 */
export class ReconnectingStream<Request, Event extends object> {
  readonly #options: ReconnectingStreamOptions<Request, Event>;
  readonly #timers = new Map<TimerName, () => void>();
  readonly #stopListening: (() => void) | undefined;
  #connection: ConnectionInfo = { state: "idle" };
  /** The current stream. Events of earlier streams are ignored. */
  #stream: { close(): void } | undefined;
  /** True while `connectSoon` waits for its microtask. */
  #isConnectPending = false;
  #isOpen = false;
  #failureCount = 0;
  #heartbeatMs = defaultHeartbeatMs;
  #lastActivityAt = 0;
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

  /** Connects. Call it again after a rejection. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#failureCount = 0;
    this.#suspendIfHidden();
    this.connect();
  }

  /** Reconnects with a new request, once for all changes in the current tick. */
  connectSoon(): void {
    if (!this.#canConnect() || this.#isConnectPending) return;
    this.#isConnectPending = true;
    void (async () => {
      await Promise.resolve(); // batches the other changes in this tick
      if (this.#isConnectPending) this.connect();
    })();
  }

  /** Replaces the open stream. No effect while the connection is waiting or suspended: the next attempt sends the new request. */
  connect(): void {
    if (this.#canConnect()) this.#connect();
  }

  /** Reconnects now instead of waiting for the next attempt. */
  retryNow(): void {
    if (!this.#timers.has("retry")) return;
    this.#cancelTimer("retry");
    this.#connect();
  }

  /** Resets the backoff. */
  resetBackoff(): void {
    this.#failureCount = 0;
  }

  /** Closes the stream and cancels the next attempt, because there are no subscriptions. */
  goIdle(): void {
    this.#closeStream();
    if (this.#isOpen && this.#connection.state !== "suspended")
      this.#setConnection({ state: "idle" });
  }

  /** Closes the stream until `open`. */
  disconnect(connection: ConnectionInfo = { state: "idle" }): void {
    this.#isOpen = false;
    this.#closeStream();
    this.#cancelTimer("suspend");
    this.#setConnection(connection);
  }

  close(): void {
    this.disconnect();
    this.#stopListening?.();
  }

  #canConnect(): boolean {
    return this.#isOpen && !this.#timers.has("retry") && this.#connection.state !== "suspended";
  }

  #connect(): void {
    this.#closeStream();
    const request = this.#options.buildRequest();
    if (request === undefined) return this.#setConnection({ state: "idle" });
    const stream = { close() {} };
    this.#stream = stream;
    this.#lastActivityAt = this.#options.host?.now() ?? 0;
    // A reconnect that only changes the request stays live.
    if (this.#connection.state !== "live") this.#setConnection({ state: "connecting" });
    this.#startSilenceTimer();
    const ifOpen =
      <A extends unknown[]>(handle: (...args: A) => void) =>
      (...args: A) => {
        if (this.#stream === stream) handle(...args);
      };
    const handlers: TransportHandlers<Event> = {
      onEvent: ifOpen((event) => this.#receive(event, request)),
      onClosed: ifOpen((reason = "the connection was closed", cause?: unknown) =>
        this.#scheduleRetry(reason, cause),
      ),
      onRejected: ifOpen((reason) => this.disconnect({ state: "rejected", reason })),
      onActivity: ifOpen(() => this.#onActivity()),
    };
    try {
      const openedStream = this.#options.connect(request, handlers);
      if (this.#stream === stream) stream.close = () => openedStream.close();
      else openedStream.close(); // the stream ended before `connect` returned
    } catch (error) {
      handlers.onClosed(formatUnknownError(error));
    }
  }

  #receive(event: Event, request: Request): void {
    if ("heartbeat_ms" in event && typeof event.heartbeat_ms === "number")
      this.#heartbeatMs = event.heartbeat_ms;
    this.#onActivity();
    if (!this.#timers.has("stable") && this.#failureCount > 0)
      this.#startTimer("stable", stableAfterMs, () => this.resetBackoff());
    if (this.#connection.state !== "live") this.#setConnection({ state: "live" });
    this.#options.onEvent(event, request);
  }

  #scheduleRetry(reason: string, cause?: unknown): void {
    this.#closeStream();
    const { host, random } = this.#options;
    const wait = backoffMs(this.#failureCount, random());
    this.#failureCount += 1;
    this.#startTimer("retry", wait, () => this.#connect());
    this.#setConnection({
      state: host === undefined || host.isOnline() ? "waiting" : "offline",
      reason,
      ...(host === undefined ? {} : { retryAt: Math.round(host.now() + wait) }),
      ...(cause === undefined ? {} : { cause }),
    });
  }

  /** Restarts the silence timer, once per batch: a timer per event costs more than the event. */
  #onActivity(): void {
    this.#lastActivityAt = this.#options.host?.now() ?? 0;
    if (!this.#timers.has("activity"))
      this.#startTimer("activity", 0, () => this.#startSilenceTimer());
  }

  #startSilenceTimer(): void {
    const silence = 2.5 * this.#heartbeatMs;
    this.#startTimer("silence", silence, () => this.#scheduleRetry(`no data for ${silence} ms`));
  }

  #onHostChange(): void {
    const { host } = this.#options;
    if (host === undefined) return;
    const hasNetworkChanged = host.isOnline() !== this.#wasOnline;
    this.#wasOnline = host.isOnline();
    if (!this.#isOpen) return;
    this.#suspendIfHidden();
    const { state } = this.#connection;
    if (state === "suspended" && !host.isVisible()) return;
    // After sleep or a change of network, streams may stay open and silent forever.
    const isQuiet = host.now() - this.#lastActivityAt > 1.2 * this.#heartbeatMs;
    if (state === "live" && !hasNetworkChanged && !isQuiet) return;
    // An attempt over the previous network may never fail.
    if (state === "connecting" && this.#stream !== undefined && !hasNetworkChanged) return;
    this.#failureCount = 0;
    this.#connect();
  }

  #suspendIfHidden(): void {
    if (this.#options.host?.isVisible() ?? true) return this.#cancelTimer("suspend");
    this.#startTimer("suspend", suspendAfterMs, () => {
      this.#closeStream();
      this.#setConnection({ state: "suspended" });
    });
  }

  #closeStream(): void {
    this.#isConnectPending = false;
    for (const timer of ["retry", "silence", "activity", "stable"] as const)
      this.#cancelTimer(timer);
    const stream = this.#stream;
    this.#stream = undefined;
    stream?.close();
  }

  #startTimer(timer: TimerName, ms: number, run: () => void): void {
    this.#cancelTimer(timer);
    const cancel = this.#options.schedule(ms, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.set(timer, cancel);
  }

  #cancelTimer(timer: TimerName): void {
    this.#timers.get(timer)?.();
    this.#timers.delete(timer);
  }

  #setConnection(connection: ConnectionInfo): void {
    const isSame = connection.state === this.#connection.state && connection.reason === undefined;
    if (isSame) return;
    this.#connection = connection;
    this.#options.onChange();
  }
}

const initialBackoffMs = 200;
const maxBackoffMs = 10_000;

/** Returns the exponential backoff in milliseconds. `random` (0 to 1) is the jitter. */
export function backoffMs(failureCount: number, random: number): number {
  return Math.min(initialBackoffMs * 2 ** failureCount, maxBackoffMs) * (0.5 + random / 2);
}

export function formatUnknownError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
