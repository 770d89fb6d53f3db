import { findExceededJsonLimit, parseJson, type StreamEnd } from "@deltawire/wire";
import type { Dispatcher } from "undici";
import { isOutOfFiles } from "../problem.ts";
import { causeOf, type Outcome } from "./failure.ts";
import type { Beating, Heartbeat } from "./heartbeat.ts";

/** Headers as undici passes them to a handler, decoded as latin1. */
export type ReceivedHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Reads a reply with status 2xx. It must call `connection.finish`, in `end` at the latest. */
export interface ReplyReader {
  begin?(status: number, headers: ReceivedHeaders): void;
  /** Receives the bytes of one network read. */
  push(bytes: Buffer): void;
  /** Called when no more bytes will come. `cause` is the reason if the connection broke. */
  end(how: StreamEnd, cause: string): void;
  /** Called about once a second while the reply is read, unless the client is slow. */
  beat?(): void;
}

/** The connection as its reader can control it. */
export interface Connection {
  /**
   * Ends the request; further calls do nothing. After an answer the upstream has a second to finish its body, so that the
   * connection can be reused; with `abort` it is closed at once.
   */
  finish(outcome: Outcome, abort?: "abort"): void;
  /** Stops reading until `whenReady` calls back. A client that stays slow for too long is treated as disconnected. */
  pause(whenReady: (go: () => void) => void): void;
  /** Ends the reply with "grace" in a second, unless the upstream ends it before. */
  awaitEnd(): void;
}

export interface SentRequest {
  dispatch(handler: Dispatcher.DispatchHandler): void;
  idleTimeoutMs: number;
  heartbeat: Heartbeat;
  /** Aborted when the client disconnects or the gateway stops. */
  signal: AbortSignal;
  reader: (connection: Connection) => ReplyReader;
  /** Called for each network read of a reply with status 2xx. */
  onAnswering?: () => void;
}

/** Sends a request once. Rejects only with internal errors and when the process is out of file descriptors. */
export function sendRequest(options: SentRequest): Promise<Outcome> {
  return new Promise((resolve, reject) => new RequestHandler(options, resolve, reject).start());
}

/** A client that reads nothing for this long is treated as disconnected. */
const maxStalledSeconds = 300;
/** Bytes after the end of a reply beyond which the connection is closed. */
const maxTrailingBytes = 64 * 1024;
/** How long an upstream may take to end its body after the finish or the last event. */
const graceMs = 1000;
/** How long the body of a refusal is awaited; what has arrived by then is used. */
const maxRefusalSeconds = 5;
/** Informational responses (1xx); servers send one or two. */
const maxInterimReplies = 100;

type State =
  | { is: "asking" }
  | { is: "reading"; reader: ReplyReader }
  | { is: "refused"; refusal: Refusal; seconds: number }
  | { is: "over" };

class RequestHandler implements Dispatcher.DispatchHandler, Beating, Connection {
  readonly #options: SentRequest;
  readonly #resolve: (outcome: Outcome) => void;
  readonly #reject: (error: unknown) => void;
  #state: State = { is: "asking" };
  #controller: Dispatcher.DispatchController | undefined;
  /** True once the upstream has ended its body. */
  #hasEnded = false;
  #trailingBytes = 0;
  /** Seconds since the client became slow; -1 if it is not. */
  #stalled = -1;
  #grace: NodeJS.Timeout | undefined;
  #interimReplies = 0;
  #interimTimer: NodeJS.Timeout | undefined;
  /** Received since the last `#readAll`. */
  #chunks: Buffer[] = [];
  readonly #read = (): void => this.#readAll();
  readonly #leave = (): void => this.finish({ is: "left" });

  constructor(
    options: SentRequest,
    resolve: (outcome: Outcome) => void,
    reject: (error: unknown) => void,
  ) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const { heartbeat, signal } = this.#options;
    if (signal.aborted) return this.#leave();
    signal.addEventListener("abort", this.#leave, { once: true });
    heartbeat.add(this);
    this.#guarded(() => this.#options.dispatch(this));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isOver) controller.abort(abandoned);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: ReceivedHeaders,
  ): void {
    if (this.#isOver) return;
    if (status < 200) return this.#countInterimReply();
    clearTimeout(this.#interimTimer);
    if (status >= 300) {
      this.#state = { is: "refused", refusal: new Refusal(status, headers), seconds: 0 };
      return;
    }
    this.#guarded(() => {
      const reader = this.#options.reader(this);
      this.#state = { is: "reading", reader };
      reader.begin?.(status, headers);
    });
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#state.is === "refused") {
      const { refusal } = this.#state;
      refusal.push(bytes);
      if (refusal.isFull) this.finish(refusal.outcome);
      return;
    }
    if (this.#isOver) {
      this.#trailingBytes += bytes.length;
      if (this.#trailingBytes > maxTrailingBytes) controller.abort(abandoned);
      return;
    }
    this.#controller = controller;
    this.#chunks.push(bytes);
    if (this.#chunks.length === 1) process.nextTick(this.#read);
  }

  onResponseEnd(): void {
    this.#read();
    this.#hasEnded = true;
    clearTimeout(this.#grace);
    if (this.#state.is === "refused") this.finish(this.#state.refusal.outcome);
    else this.#endReply("eof");
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#read();
    clearTimeout(this.#grace);
    const { code = "", message } = error as NodeJS.ErrnoException;
    const timedOut = /TIMEOUT/.test(code) || code === "ETIMEDOUT";
    const cause = causeOf(code, message);
    if (this.#state.is === "refused") return this.finish(this.#state.refusal.outcome);
    if (this.#state.is === "reading")
      return this.#endReply(timedOut ? "idle_timeout" : "transport_error", cause);
    if (isOutOfFiles(error)) return this.#failInternally(error);
    this.finish({
      is: "unreachable",
      timedOut,
      cause,
      ...(this.#controller === undefined ? {} : { connected: true }),
      ...(code === "ECONNRESET" || code === "UND_ERR_SOCKET" ? { answered: true } : {}),
    });
  }

  beat(): void {
    const state = this.#state;
    if (state.is === "refused") {
      state.seconds += 1;
      if (state.seconds > maxRefusalSeconds) this.finish(state.refusal.outcome);
      return;
    }
    if (state.is !== "reading") return;
    if (this.#stalled < 0) return this.#guarded(() => state.reader.beat?.());
    this.#stalled += 1;
    if (this.#stalled > maxStalledSeconds) this.#leave();
  }

  pause(whenReady: (go: () => void) => void): void {
    this.#stalled = 0;
    this.#controller?.pause();
    whenReady(() => {
      this.#stalled = -1;
      this.#controller?.resume();
    });
  }

  awaitEnd(): void {
    this.#grace ??= setTimeout(() => this.#endOfGrace(), graceMs);
  }

  finish(outcome: Outcome, abort?: "abort"): void {
    if (this.#isOver) return;
    this.#state = { is: "over" };
    const { heartbeat, signal } = this.#options;
    heartbeat.remove(this);
    signal.removeEventListener("abort", this.#leave);
    clearTimeout(this.#grace);
    clearTimeout(this.#interimTimer);
    if (this.#hasEnded) return this.#resolve(outcome);
    if (outcome.is === "answered" && this.#stalled < 0 && abort === undefined)
      this.#grace = setTimeout(() => this.#controller?.abort(abandoned), graceMs).unref();
    else this.#controller?.abort(abandoned);
    this.#resolve(outcome);
  }

  get #isOver(): boolean {
    return this.#state.is === "over";
  }

  /** undici restarts its idle timer at each interim reply, so their number and the total time are limited here. */
  #countInterimReply(): void {
    const { idleTimeoutMs } = this.#options;
    this.#interimReplies += 1;
    this.#interimTimer ??= setTimeout(() => {
      const cause = `no reply within ${Math.round(idleTimeoutMs / 1000)} s`;
      this.finish({ is: "unreachable", timedOut: true, cause, connected: true });
    }, idleTimeoutMs);
    if (this.#interimReplies <= maxInterimReplies) return;
    const cause = `it sent more than ${maxInterimReplies} interim replies (1xx) and no reply`;
    this.finish({ is: "unreachable", timedOut: false, cause, connected: true, answered: true });
  }

  /**
   * Most servers send each event as an HTTP chunk of its own, and undici calls `onResponseData` for each. All chunks of one
   * network read are translated and written together.
   */
  #readAll(): void {
    if (this.#chunks.length === 0) return;
    const [first] = this.#chunks;
    const bytes =
      this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks);
    this.#chunks = [];
    if (this.#state.is !== "reading") return;
    try {
      this.#state.reader.push(bytes);
      if (!this.#isOver) this.#options.onAnswering?.();
    } catch (error) {
      this.#failInternally(error);
    }
  }

  #endOfGrace(): void {
    // Nothing is read while the client is slow, so the end cannot arrive.
    if (this.#stalled >= 0) this.#grace = setTimeout(() => this.#endOfGrace(), graceMs);
    else this.#endReply("grace");
  }

  #endReply(how: StreamEnd, cause = ""): void {
    const state = this.#state;
    if (state.is === "reading") this.#guarded(() => state.reader.end(how, cause));
  }

  #guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#failInternally(error);
    }
  }

  /** For internal errors: rejects this request only. */
  #failInternally(error: unknown): void {
    this.#reject(error);
    this.finish({ is: "left" });
  }
}

const abandoned = new Error("the request has ended");

/** A response with status 3xx to 5xx: its status and the start of its body, which may quote keys. */
class Refusal {
  readonly #status: number;
  readonly #headers: Record<string, string> = {};
  readonly #pieces: Uint8Array[] = [];
  #size = 0;

  constructor(status: number, headers: ReceivedHeaders) {
    this.#status = status;
    for (const name of ["location", "retry-after"]) {
      const value = headers[name];
      if (value !== undefined) this.#headers[name] = String(value);
    }
  }

  push(bytes: Uint8Array): void {
    if (this.isFull) return;
    this.#size += bytes.length;
    this.#pieces.push(bytes);
  }

  /** True if nothing more of the body will be stored. */
  get isFull(): boolean {
    return this.#size >= maxRefusalBytes;
  }

  get outcome(): Outcome {
    const text = Buffer.concat(this.#pieces).subarray(0, maxRefusalBytes).toString("utf8");
    // JSON that nests deeper than this can be parsed, but not serialized again.
    const json = findExceededJsonLimit(text) === undefined ? parseJson(text) : undefined;
    return { is: "refused", status: this.#status, headers: this.#headers, body: json ?? text };
  }
}

const maxRefusalBytes = 64 * 1024;
