import { findExceededJsonLimit, parseJson, type StreamEndReason } from "@deltawire/wire";
import type { Dispatcher } from "undici";
import { isTooManyOpenFiles } from "../gateway-error.ts";
import { describeCause, type AttemptOutcome } from "./attempt-outcome.ts";
import type { TickListener, Ticker } from "./ticker.ts";

/** Headers as undici passes them to a handler, decoded as latin1. */
export type UpstreamHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Reads a reply with status 2xx. It must call `connection.finish`, in `end` at the latest. */
export interface UpstreamReplyReader {
  begin?(status: number, headers: UpstreamHeaders): void;
  /** Receives the bytes of one network read. */
  push(bytes: Buffer): void;
  /** Called when no more bytes will come. `cause`: the reason if the connection broke, else empty. */
  end(endReason: StreamEndReason, cause: string): void;
  /** Called about once a second while the reply is read, unless the client is slow. */
  onTick?(): void;
}

/** What a reader can do with its connection. */
export interface UpstreamConnection {
  /**
   * Ends the request; further calls do nothing. After an answer the upstream has a second to finish its body, so that the
   * connection can be reused; with `abort` it is closed immediately.
   */
  finish(outcome: AttemptOutcome, abort?: "abort"): void;
  /**
   * Stops reading. `whenReady` receives a callback that continues reading, and calls it when the client is ready. A client that
   * stays slow for too long is treated as disconnected.
   */
  pause(whenReady: (resume: () => void) => void): void;
  /** Ends the reply with the reason "grace" after a second, unless the upstream ends it first. */
  awaitEnd(): void;
}

export interface SendRequestOptions {
  dispatch(handler: Dispatcher.DispatchHandler): void;
  idleTimeoutMs: number;
  ticker: Ticker;
  /** Aborted when the client disconnects or the gateway stops. */
  signal: AbortSignal;
  createReader: (connection: UpstreamConnection) => UpstreamReplyReader;
  /** Called for each network read of a reply with status 2xx. */
  onData?: () => void;
}

/** Sends a request once. Rejects only with internal errors and when the process is out of file descriptors. */
export function sendRequest(options: SendRequestOptions): Promise<AttemptOutcome> {
  return new Promise((resolve, reject) => new RequestHandler(options, resolve, reject).start());
}

/** A client that reads nothing for this long is treated as disconnected. */
const maxStalledSeconds = 300;
/** The connection is closed if more bytes follow the end of a reply. */
const maxTrailingBytes = 64 * 1024;
/** How long an upstream may take to end its body after `finish` or `awaitEnd`. */
const graceMs = 1000;
/** Time limit for the body of an error response; what has arrived by then is used. */
const maxRejectionSeconds = 5;
/** Maximum number of informational responses (1xx); servers send one or two. */
const maxInterimReplies = 100;

type State =
  | { status: "waiting" }
  | { status: "reading"; reader: UpstreamReplyReader }
  | { status: "rejected"; rejection: RejectedResponse; seconds: number }
  | { status: "over" };

class RequestHandler implements Dispatcher.DispatchHandler, TickListener, UpstreamConnection {
  readonly #options: SendRequestOptions;
  readonly #resolve: (outcome: AttemptOutcome) => void;
  readonly #reject: (error: unknown) => void;
  #state: State = { status: "waiting" };
  #controller: Dispatcher.DispatchController | undefined;
  /** True once the upstream has ended its body. */
  #hasEnded = false;
  #trailingBytes = 0;
  /** Seconds since the client became slow; -1 if it is not. */
  #stalledSeconds = -1;
  #graceTimer: NodeJS.Timeout | undefined;
  #interimReplyCount = 0;
  #interimTimer: NodeJS.Timeout | undefined;
  /** Chunks received since the last `#readAll`. */
  #chunks: Buffer[] = [];
  readonly #readChunks = (): void => this.#readAll();
  readonly #disconnect = (): void => this.finish({ type: "aborted" });

  constructor(
    options: SendRequestOptions,
    resolve: (outcome: AttemptOutcome) => void,
    reject: (error: unknown) => void,
  ) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { ticker, signal } = this.#options;
    if (signal.aborted) return this.#disconnect();
    signal.addEventListener("abort", this.#disconnect, { once: true });
    ticker.add(this);
    this.#runGuarded(() => this.#options.dispatch(this));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(requestEndedError);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: UpstreamHeaders,
  ): void {
    if (this.#isOver) return;
    if (status < 200) return this.#countInterimReply();
    clearTimeout(this.#interimTimer);
    if (status >= 300) {
      this.#state = {
        status: "rejected",
        rejection: new RejectedResponse(status, headers),
        seconds: 0,
      };
      return;
    }
    this.#runGuarded(() => {
      const reader = this.#options.createReader(this);
      this.#state = { status: "reading", reader };
      reader.begin?.(status, headers);
    });
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#state.status === "rejected") {
      const { rejection } = this.#state;
      rejection.push(bytes);
      if (rejection.isFull) this.finish(rejection.outcome);
      return;
    }
    if (this.#isOver) {
      this.#trailingBytes += bytes.length;
      if (this.#trailingBytes > maxTrailingBytes) controller.abort(requestEndedError);
      return;
    }
    this.#controller = controller;
    this.#chunks.push(bytes);
    if (this.#chunks.length === 1) process.nextTick(this.#readChunks);
  }

  onResponseEnd(): void {
    this.#readChunks();
    this.#hasEnded = true;
    clearTimeout(this.#graceTimer);
    if (this.#state.status === "rejected") this.finish(this.#state.rejection.outcome);
    else this.#endReply("eof");
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#readChunks();
    clearTimeout(this.#graceTimer);
    const { code = "", message } = error as NodeJS.ErrnoException;
    const timedOut = /TIMEOUT/.test(code) || code === "ETIMEDOUT";
    const cause = describeCause(code, message);
    if (this.#state.status === "rejected") return this.finish(this.#state.rejection.outcome);
    if (this.#state.status === "reading")
      return this.#endReply(timedOut ? "idle_timeout" : "transport_error", cause);
    if (isTooManyOpenFiles(error)) return this.#failInternally(error);
    this.finish({
      type: "unreachable",
      timedOut,
      cause,
      ...(this.#controller === undefined ? {} : { connected: true }),
      ...(code === "ECONNRESET" || code === "UND_ERR_SOCKET" ? { endedWithoutReply: true } : {}),
    });
  }

  onTick(): void {
    const state = this.#state;
    if (state.status === "rejected") {
      state.seconds += 1;
      if (state.seconds > maxRejectionSeconds) this.finish(state.rejection.outcome);
      return;
    }
    if (state.status !== "reading") return;
    if (this.#stalledSeconds < 0) return this.#runGuarded(() => state.reader.onTick?.());
    this.#stalledSeconds += 1;
    if (this.#stalledSeconds > maxStalledSeconds) this.#disconnect();
  }

  pause(whenReady: (resume: () => void) => void): void {
    this.#stalledSeconds = 0;
    this.#controller?.pause();
    whenReady(() => {
      this.#stalledSeconds = -1;
      this.#controller?.resume();
    });
  }

  awaitEnd(): void {
    this.#graceTimer ??= setTimeout(() => this.#onGraceEnd(), graceMs);
  }

  finish(outcome: AttemptOutcome, abort?: "abort"): void {
    if (this.#isOver) return;
    this.#state = { status: "over" };
    const { ticker, signal } = this.#options;
    ticker.remove(this);
    signal.removeEventListener("abort", this.#disconnect);
    clearTimeout(this.#graceTimer);
    clearTimeout(this.#interimTimer);
    if (this.#hasEnded) return this.#resolve(outcome);
    if (outcome.type === "answered" && this.#stalledSeconds < 0 && abort === undefined)
      this.#graceTimer = setTimeout(
        () => this.#controller?.abort(requestEndedError),
        graceMs,
      ).unref();
    else this.#controller?.abort(requestEndedError);
    this.#resolve(outcome);
  }

  get #isOver(): boolean {
    return this.#state.status === "over";
  }

  /** undici restarts its idle timer at each interim reply, so their number and the total time are limited here. */
  #countInterimReply(): void {
    const { idleTimeoutMs } = this.#options;
    this.#interimReplyCount += 1;
    this.#interimTimer ??= setTimeout(() => {
      const cause = `only interim replies (1xx) within ${Math.round(idleTimeoutMs / 1000)} s`;
      this.finish({ type: "unreachable", timedOut: true, cause, connected: true });
    }, idleTimeoutMs);
    if (this.#interimReplyCount <= maxInterimReplies) return;
    const cause = `it sent more than ${maxInterimReplies} interim replies (1xx) and no final one`;
    this.finish({
      type: "unreachable",
      timedOut: false,
      cause,
      connected: true,
      endedWithoutReply: true,
    });
  }

  /**
   * Most servers send each event as a separate HTTP chunk, and undici calls `onResponseData` for each. All chunks of one
   * network read are translated and written together.
   */
  #readAll(): void {
    if (this.#chunks.length === 0) return;
    const [first] = this.#chunks;
    const bytes =
      this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    this.#chunks = [];
    if (this.#state.status !== "reading") return;
    try {
      this.#state.reader.push(bytes);
      if (!this.#isOver) this.#options.onData?.();
    } catch (error) {
      this.#failInternally(error);
    }
  }

  #onGraceEnd(): void {
    // Nothing is read while the client is slow, so the end cannot arrive.
    if (this.#stalledSeconds >= 0) this.#graceTimer = setTimeout(() => this.#onGraceEnd(), graceMs);
    else this.#endReply("grace");
  }

  #endReply(endReason: StreamEndReason, cause = ""): void {
    const state = this.#state;
    if (state.status === "reading") this.#runGuarded(() => state.reader.end(endReason, cause));
  }

  #runGuarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#failInternally(error);
    }
  }

  /** Rejects this request with an internal error. */
  #failInternally(error: unknown): void {
    this.#reject(error);
    this.finish({ type: "aborted" });
  }
}

const requestEndedError = new Error("the request has ended");

/** A response with status 3xx to 5xx: its status and the start of its body, which may quote keys. */
class RejectedResponse {
  readonly #status: number;
  readonly #headers: Record<string, string> = {};
  readonly #chunks: Uint8Array[] = [];
  #size = 0;

  constructor(status: number, headers: UpstreamHeaders) {
    this.#status = status;
    for (const name of ["location", "retry-after"]) {
      const value = headers[name];
      if (value !== undefined) this.#headers[name] = String(value);
    }
  }

  push(bytes: Uint8Array): void {
    if (this.isFull) return;
    this.#size += bytes.length;
    this.#chunks.push(bytes);
  }

  /** True if the rest of the body will not be stored. */
  get isFull(): boolean {
    return this.#size >= maxRejectionBytes;
  }

  get outcome(): AttemptOutcome {
    const text = Buffer.concat(this.#chunks).subarray(0, maxRejectionBytes).toString("utf8");
    // JSON beyond these limits is sent as text: if it is nested too deeply, it can be parsed, but not serialized again.
    const json = findExceededJsonLimit(text) === undefined ? parseJson(text) : undefined;
    return { type: "rejected", status: this.#status, headers: this.#headers, body: json ?? text };
  }
}

const maxRejectionBytes = 64 * 1024;
