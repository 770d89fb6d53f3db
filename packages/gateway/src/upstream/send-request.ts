import { findExceededJsonLimit, parseJson, type StreamEnd } from "@deltawire/wire";
import type { Dispatcher } from "undici";
import { isOutOfFiles } from "../problem.ts";
import { causeOf, type Outcome } from "./failure.ts";
import type { Beating, Heartbeat } from "./heartbeat.ts";

/** Headers as undici hands them out: one character for every byte. */
export type ReceivedHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Reads a reply with a status below 300. It ends the request by `connection.finish`, in `end` at the latest. */
export interface ReplyReader {
  begin?(status: number, headers: ReceivedHeaders): void;
  /** What one read of the network brought. */
  push(bytes: Buffer): void;
  /** Nothing more comes. `cause`: why, if the connection broke. */
  end(how: StreamEnd, cause: string): void;
  /** Called about once a second while the reply is read, unless the client is slow. */
  beat?(): void;
}

/** What a reader can do with its connection. */
export interface Connection {
  /**
   * Ends the request; further calls do nothing. After an answer the upstream has a second to close, so that the connection
   * can be used again; `abort`: it is closed at once.
   */
  finish(outcome: Outcome, abort?: "abort"): void;
  /** Reads nothing more until `whenReady` calls back. A client that stays slow for too long counts as gone. */
  pause(whenReady: (go: () => void) => void): void;
  /** All that matters has come: a second later the reply ends with "grace". */
  awaitEnd(): void;
}

export interface SentRequest {
  dispatch(handler: Dispatcher.DispatchHandler): void;
  idleTimeoutMs: number;
  heartbeat: Heartbeat;
  /** The client has left, or the gateway stops. */
  signal: AbortSignal;
  reader: (connection: Connection) => ReplyReader;
  /** Bytes of a good reply have come. Called for all of them. */
  onAnswering?: () => void;
}

/** Sends a request to an upstream once. Rejects only with mistakes of ours, and when the process is out of files. */
export function sendRequest(options: SentRequest): Promise<Outcome> {
  return new Promise((resolve, reject) => new Exchange(options, resolve, reject).start());
}

/** Seconds for which a client may leave its reply unread. */
const stalledSeconds = 300;
/** What may come behind the end of a reply before the connection is closed at once. */
const mostBytesBehind = 64 * 1024;
/** What may come after the finish, or after the last event, has this long. */
const graceMs = 1000;
/** Seconds in which the body of a refusal has to come; after that, what has come is all of it. */
const refusalSeconds = 5;
/** Interim replies (1xx); servers send one or two. */
const mostInterimReplies = 100;

type State =
  | { is: "asking" }
  | { is: "reading"; reader: ReplyReader }
  | { is: "refused"; refusal: Refusal; seconds: number }
  | { is: "over" };

class Exchange implements Dispatcher.DispatchHandler, Beating, Connection {
  readonly #options: SentRequest;
  readonly #resolve: (outcome: Outcome) => void;
  readonly #reject: (error: unknown) => void;
  #state: State = { is: "asking" };
  #controller: Dispatcher.DispatchController | undefined;
  /** Whether the upstream has sent everything. */
  #hasEnded = false;
  #bytesBehind = 0;
  /** Seconds since the client has become slow; -1: it is not. */
  #stalled = -1;
  #grace: NodeJS.Timeout | undefined;
  #interimReplies = 0;
  #interimTimer: NodeJS.Timeout | undefined;
  /** What has come since the last read. */
  #came: Buffer[] = [];
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
      this.#bytesBehind += bytes.length;
      if (this.#bytesBehind > mostBytesBehind) controller.abort(abandoned);
      return;
    }
    this.#controller = controller;
    this.#came.push(bytes);
    if (this.#came.length === 1) process.nextTick(this.#read);
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
    if (isOutOfFiles(error)) return this.#break(error);
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
      if (state.seconds > refusalSeconds) this.finish(state.refusal.outcome);
      return;
    }
    if (state.is !== "reading") return;
    if (this.#stalled < 0) return this.#guarded(() => state.reader.beat?.());
    this.#stalled += 1;
    if (this.#stalled > stalledSeconds) this.#leave();
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

  /** undici's idle timer begins anew with each interim reply, so both their number and the time are limited here. */
  #countInterimReply(): void {
    const { idleTimeoutMs } = this.#options;
    this.#interimReplies += 1;
    this.#interimTimer ??= setTimeout(() => {
      const cause = `no reply within ${Math.round(idleTimeoutMs / 1000)} s`;
      this.finish({ is: "unreachable", timedOut: true, cause, connected: true });
    }, idleTimeoutMs);
    if (this.#interimReplies <= mostInterimReplies) return;
    const cause = `it sent more than ${mostInterimReplies} interim replies (1xx) and no reply`;
    this.finish({ is: "unreachable", timedOut: false, cause, connected: true, answered: true });
  }

  /**
   * Most servers send every event as a chunk of its own, and undici tells of each: what one read of the network brought
   * is read and written in one go.
   */
  #readAll(): void {
    if (this.#came.length === 0) return;
    const [first] = this.#came;
    const bytes =
      this.#came.length === 1 && first !== undefined ? first : Buffer.concat(this.#came);
    this.#came = [];
    if (this.#state.is !== "reading") return;
    try {
      this.#state.reader.push(bytes);
      if (!this.#isOver) this.#options.onAnswering?.();
    } catch (error) {
      this.#break(error);
    }
  }

  #endOfGrace(): void {
    // While the client is slow nothing is read, and what is awaited cannot come.
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
      this.#break(error);
    }
  }

  /** A mistake of ours: it ends this request, and nobody else's. */
  #break(error: unknown): void {
    this.#reject(error);
    this.finish({ is: "left" });
  }
}

const abandoned = new Error("the request is over");

/** An upstream's answer that is no reply: its status, and the beginning of its body. It may quote keys. */
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

  /** All that is stored of it has come. */
  get isFull(): boolean {
    return this.#size >= mostRefusalBytes;
  }

  get outcome(): Outcome {
    const text = Buffer.concat(this.#pieces).subarray(0, mostRefusalBytes).toString("utf8");
    // Deeper JSON than this can be parsed, but not written again.
    const json = findExceededJsonLimit(text) === undefined ? parseJson(text) : undefined;
    return { is: "refused", status: this.#status, headers: this.#headers, body: json ?? text };
  }
}

const mostRefusalBytes = 64 * 1024;
