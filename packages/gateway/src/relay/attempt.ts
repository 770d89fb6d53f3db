import type { Redactor } from "@deltawire/agent";
import {
  WireError,
  type StreamEnd,
  type UpstreamFailure,
  type UpstreamReply,
} from "@deltawire/wire";
import type { Dispatcher } from "undici";
import { isOutOfFiles } from "../problem.ts";
import type { Output } from "./client-wire.ts";
import { causeOf, refusedBy } from "./failure.ts";
import type { Beating, Heartbeat } from "./heartbeat.ts";
import { InterimReplies } from "./interim-replies.ts";
import type { Outcome } from "./outcome.ts";
import type { Plan } from "./plan.ts";
import type { Receiver } from "./receiver.ts";
import { Refusal, refusalSeconds } from "./refusal.ts";
import type { UpstreamRequest } from "./upstream.ts";

export interface AttemptOptions {
  request: UpstreamRequest;
  plan: Plan;
  receiver: Receiver;
  heartbeat: Heartbeat;
  redactor: Redactor;
  /** The client has left, or the gateway stops. */
  signal: AbortSignal;
  /** Called when content of a good reply goes to the client, perhaps more than once. */
  onAnswer?: (() => void) | undefined;
}

export function attempt(options: AttemptOptions): Promise<Outcome> {
  return new Promise((resolve, reject) => new Attempt(options, resolve, reject).start());
}

/** Seconds after an upstream's 200 in which its first event is awaited, and seconds between signs of life. */
const quietSeconds = 15;
/** Seconds for which a client may leave its stream unread. */
const stalledSeconds = 300;
/** What may come behind the last event before the connection is closed at once. */
const mostBytesBehind = 64 * 1024;
/** What may come after the finish, or after the last event, has this long. */
const graceMs = 1000;

/** What a reply may have in all. */
const mostBytes = 128 * 1024 * 1024;
/**
 * What may come without any content: comments, empty events and empty deltas. Servers send them for as long as a model
 * reasons out of sight, some of them for every token: 32 MB are 100,000 empty deltas.
 */
const mostBytesWithoutContent = 32 * 1024 * 1024;
const secondsWithoutContent = 3600;

type State =
  | { is: "asking" }
  | { is: "reading" }
  | { is: "refused"; refusal: Refusal }
  | { is: "over" };

/**
 * One request to an upstream and its reply on the way to the client: one push and one write for every read of the
 * network, nothing in between that waits.
 */
class Attempt implements Dispatcher.DispatchHandler, Beating {
  readonly #options: AttemptOptions;
  readonly #resolve: (outcome: Outcome) => void;
  readonly #reject: (error: unknown) => void;
  readonly #reply: UpstreamReply<Output>;
  readonly #out: Output[] = [];
  #state: State = { is: "asking" };
  #controller: Dispatcher.DispatchController | undefined;
  /** Whether the upstream has said all that it has to say. */
  #hasEnded = false;
  #size = 0;
  readonly #interimReplies: InterimReplies;
  #bytesBehind = 0;
  /** The reply was ended by a limit of ours, and the upstream would go on. */
  #gaveUp = false;
  #quiet = 0;
  /** The reply's `progress` when it last brought content. */
  #progress = 0;
  #bytesWithoutContent = 0;
  #secondsWithoutContent = 0;
  #stalled = -1;
  #grace: NodeJS.Timeout | undefined;
  /** What has come since the last read. */
  #came: Buffer[] = [];
  readonly #read = (): void => this.#readAll();
  readonly #leave = (): void => this.#finish({ is: "left" });

  constructor(
    options: AttemptOptions,
    resolve: (outcome: Outcome) => void,
    reject: (error: unknown) => void,
  ) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#reply = options.plan.reply(options.redactor);
    const { idleTimeoutMs } = options.request.upstream.config;
    this.#interimReplies = new InterimReplies(idleTimeoutMs, (outcome) => this.#finish(outcome));
  }

  start(): void {
    const { request, plan, heartbeat, signal } = this.#options;
    if (signal.aborted) return this.#leave();
    signal.addEventListener("abort", this.#leave, { once: true });
    heartbeat.add(this);
    const headers = {
      "content-type": "application/json",
      accept: plan.streams ? "text/event-stream" : "application/json",
    };
    const body = JSON.stringify(plan.body);
    request.upstream.dispatch({ method: "POST", path: plan.path, headers, body }, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#state.is === "over") controller.abort(abandoned);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (this.#state.is === "over") return;
    if (status < 200) return this.#interimReplies.add();
    this.#interimReplies.stop();
    this.#quiet = 0;
    this.#state =
      status < 300 ? { is: "reading" } : { is: "refused", refusal: new Refusal(status, headers) };
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#state.is === "refused") {
      const { refusal } = this.#state;
      refusal.push(bytes);
      if (refusal.isFull) this.#refused(refusal);
      return;
    }
    if (this.#state.is === "over") return this.#countBehind(controller, bytes.length);
    if (this.#state.is !== "reading") return;
    this.#controller = controller;
    this.#came.push(bytes);
    if (this.#came.length === 1) process.nextTick(this.#read);
  }

  onResponseEnd(): void {
    this.#read();
    this.#hasEnded = true;
    clearTimeout(this.#grace);
    if (this.#state.is === "refused") this.#refused(this.#state.refusal);
    else if (this.#state.is === "reading") this.#endReply("eof");
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#read();
    clearTimeout(this.#grace);
    if (isOutOfFiles(error) && this.#state.is === "asking") return this.#break(error);
    const { code = "", message } = error as NodeJS.ErrnoException;
    const timedOut = /TIMEOUT/.test(code) || code === "ETIMEDOUT";
    if (this.#state.is === "refused") this.#refused(this.#state.refusal);
    else if (this.#state.is === "asking")
      this.#finish({
        is: "unreachable",
        timedOut,
        cause: causeOf(code, message),
        ...(this.#controller === undefined ? {} : { connected: true }),
        ...(code === "ECONNRESET" || code === "UND_ERR_SOCKET" ? { answered: true } : {}),
      });
    else if (this.#state.is === "reading")
      this.#endReply(timedOut ? "idle_timeout" : "transport_error");
  }

  beat(): void {
    if (this.#state.is === "refused") {
      this.#quiet += 1;
      if (this.#quiet > refusalSeconds) this.#refused(this.#state.refusal);
      return;
    }
    if (this.#state.is !== "reading") return;
    if (this.#stalled >= 0) {
      this.#stalled += 1;
      if (this.#stalled > stalledSeconds) this.#leave();
      return;
    }
    this.#secondsWithoutContent += 1;
    if (this.#secondsWithoutContent > secondsWithoutContent)
      return this.#fail({
        code: "upstream_idle_timeout",
        message: `the upstream sent no content for ${secondsWithoutContent / 60} minutes, only signs that it is alive`,
      });
    if (!this.#options.receiver.streams) return;
    this.#quiet += 1;
    if (this.#quiet < quietSeconds) return;
    this.#quiet = 0;
    try {
      if (this.#reply.begun) this.#reply.keepAlive(this.#out);
      else this.#reply.begin(this.#out);
      this.#options.receiver.keepAlive();
      this.#options.receiver.send(this.#out, undefined);
      this.#out.length = 0;
    } catch (error) {
      this.#break(error);
    }
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
    this.#size += bytes.length;
    try {
      if (this.#size > mostBytes)
        throw new WireError(
          "reply_too_large",
          `the upstream's reply has more than ${mostBytes} bytes, which is the limit`,
        );
      this.#reply.push(bytes, this.#out);
      this.#countContent(bytes.length);
      if (this.#pass()) return;
    } catch (error) {
      return this.#failOrBreak(error);
    }
    this.#stalled = 0;
    this.#controller?.pause();
    this.#options.receiver.whenReady(() => {
      this.#stalled = -1;
      this.#controller?.resume();
    });
  }

  #countBehind(controller: Dispatcher.DispatchController, length: number): void {
    this.#bytesBehind += length;
    if (this.#bytesBehind > mostBytesBehind) controller.abort(abandoned);
  }

  #countContent(length: number): void {
    const { progress } = this.#reply;
    if (progress !== this.#progress) {
      this.#progress = progress;
      this.#bytesWithoutContent = 0;
      this.#secondsWithoutContent = 0;
      return;
    }
    this.#bytesWithoutContent += length;
    if (this.#bytesWithoutContent > mostBytesWithoutContent)
      throw new WireError(
        "reply_too_large",
        `the upstream sent more than ${mostBytesWithoutContent} bytes without any content, which is the limit`,
      );
  }

  /** Sends on what has come. False: the client is slow. */
  #pass(): boolean {
    const reply = this.#reply;
    if (reply.refusal !== undefined) {
      this.#finish(refusedBy(reply.refusal));
      return true;
    }
    const { receiver, request } = this.#options;
    if (reply.failure !== undefined && !receiver.hasSent) {
      this.#finish({ is: "failed", failure: reply.failure });
      return true;
    }
    if (this.#size > 0) request.answering();
    // The opening events come before an error too.
    if (this.#out.length > 0 && reply.failure === undefined && (reply.progress > 0 || reply.ended))
      this.#options.onAnswer?.();
    if (reply.ended) {
      const { usage, failure } = reply;
      receiver.end(this.#out, reply.bytes, failure);
      this.#finish({ is: "answered", usage, failure });
      return true;
    }
    let ready = true;
    if (this.#out.length > 0) {
      this.#quiet = 0;
      ready = receiver.send(this.#out, reply.bytes);
      if (this.#out.length === 1) this.#out.pop();
      else this.#out.length = 0;
    }
    if (reply.awaitsEnd) this.#grace ??= setTimeout(() => this.#endOfGrace(), graceMs);
    return ready;
  }

  #endOfGrace(): void {
    // While the client is slow nothing is read, and what is awaited cannot come.
    if (this.#stalled >= 0) this.#grace = setTimeout(() => this.#endOfGrace(), graceMs);
    else this.#endReply("grace");
  }

  #endReply(how: StreamEnd): void {
    if (this.#state.is === "over") return;
    try {
      this.#reply.end(how, this.#out);
      const begun = this.#reply.begun || this.#reply.refusal !== undefined;
      if (begun) this.#pass();
      if (this.#isOver) return;
      // A translator that owes its last event: whatever it is, the request ends here.
      if (begun && this.#options.receiver.hasSent) return this.#endWithoutTerminal();
    } catch (error) {
      return this.#failOrBreak(error);
    }
    const timedOut = how === "idle_timeout";
    const cause = "the reply ended before it began";
    this.#finish({ is: "unreachable", timedOut, cause, connected: true, answered: true });
  }

  /** What a limit of the wire package ended is the upstream's failure; anything else is a mistake of ours. */
  #failOrBreak(error: unknown): void {
    if (!(error instanceof WireError)) return this.#break(error);
    this.#fail({ code: "reply_too_large", message: error.message });
  }

  /** Ends the reply, whatever the upstream still has to say. */
  #fail(failure: UpstreamFailure): void {
    this.#gaveUp = true;
    try {
      this.#reply.fail(failure, this.#out);
      this.#pass();
    } catch (error) {
      this.#break(error);
    }
    if (this.#state.is !== "over") this.#finish({ is: "failed", failure });
  }

  get #isOver(): boolean {
    return this.#state.is === "over";
  }

  #endWithoutTerminal(): void {
    const failure = {
      code: "upstream_stream_truncated",
      message: "the upstream's reply ended without a terminal event",
    };
    const { plan, receiver } = this.#options;
    receiver.end(plan.failed(failure), undefined, failure);
    this.#finish({ is: "answered", usage: this.#reply.usage, failure });
  }

  /** A mistake of ours: it ends this request, and nobody else's. */
  #break(error: unknown): void {
    this.#reject(error);
    this.#finish({ is: "left" });
  }

  #refused({ status, headers, body }: Refusal): void {
    this.#finish({ is: "refused", status, headers, body });
  }

  #finish(outcome: Outcome): void {
    if (this.#state.is === "over") return;
    this.#state = { is: "over" };
    const { heartbeat, signal } = this.#options;
    heartbeat.remove(this);
    signal.removeEventListener("abort", this.#leave);
    clearTimeout(this.#grace);
    this.#interimReplies.stop();
    // Behind its last event an upstream only has to close; so it may, and the connection can be used again.
    if (outcome.is === "answered" && this.#stalled < 0 && !this.#gaveUp)
      this.#grace = setTimeout(() => this.#controller?.abort(abandoned), graceMs).unref();
    else if (!this.#hasEnded) this.#controller?.abort(abandoned);
    this.#resolve(outcome);
  }
}

const abandoned = new Error("the request is over");
