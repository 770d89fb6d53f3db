import { randomUUID } from "node:crypto";
import type {
  JsonObject,
  UpstreamProfile,
  ResponseEvent,
  ResponsesRequest,
  StreamEndReason,
  UpstreamFailure,
  UpstreamReply,
} from "@deltawire/wire";
import { WireError } from "@deltawire/wire";
import { buildRequestPlan, type RequestPlan } from "./fetch-model/request-plan.ts";
import {
  toReplyError,
  toRejectionError,
  parseRetryAfter,
  toUnreachableError,
  type FetchTarget,
} from "./fetch-model/upstream-errors.ts";
import { ModelError, type Model, type RoundReport } from "../model.ts";
import { Redactor } from "../redaction/redactor.ts";
import { findSecretValues, findUrlSecrets } from "../redaction/secret-values.ts";

export interface FetchModelOptions {
  /** The URL to which `/chat/completions` or `/responses` is appended: `https://api.example.com/v1`. A query string is preserved. */
  baseUrl: string;
  /** Sent as a bearer token. For servers that expect another header, use `headers`. */
  apiKey?: string;
  headers?: Readonly<Record<string, string>>;
  /** The model name that the server knows. Default: the model of the request. */
  model?: string;
  speaks: "chat" | "responses";
  /** Peculiarities of a Chat server, for example `findProviderProfile("deepseek")`. */
  profile?: UpstreamProfile;
  /** Longest time without data from the server, before the first byte or later. In milliseconds; default 300,000. */
  idleTimeoutMs?: number;
  fetch?: typeof globalThis.fetch;
}

/** Returns a model that uses one server without a gateway. Repairs replies, but does not retry or adapt rejected requests. */
export function createFetchModel(options: FetchModelOptions): Model {
  const { baseUrl, apiKey, model, headers = {} } = options;
  const redactor = new Redactor([
    apiKey ?? "",
    ...findSecretValues(Object.entries(headers)),
    ...findUrlSecrets(new URL(baseUrl)),
  ]);
  const target: FetchTarget = { url: stripUrlSecrets(baseUrl), hasKey: apiKey !== undefined };
  const modelField = model === undefined ? {} : { model };
  return {
    ...(model === undefined ? {} : { name: model }),
    stream: (request, signal, report) =>
      new FetchModelExchange(options, target, redactor).run(
        { ...request, ...modelField },
        signal,
        report,
      ),
  };
}

/** How long to wait for further data after the finish reason. */
const endGraceMs = 1000;
const defaultIdleTimeoutMs = 300_000;
/** A reply may consist of comments and empty events for this many times the idle timeout. */
const maxIdleFactor = 6;
/** Limits for reading the body of an error response. */
const errorBodyTimeoutMs = 5000;
const maxErrorBodyLength = 64 * 1024;
/** Maximum size of a reply, which is held in memory until its end. */
const maxReplyBytes = 128 * 1024 * 1024;

const replyTooLarge: UpstreamFailure = {
  code: "reply_too_large",
  message: `the reply is larger than the limit of ${maxReplyBytes} bytes`,
};

type Event = ResponseEvent | JsonObject;
type Batch = readonly Event[];

class FetchModelExchange {
  readonly #options: FetchModelOptions;
  readonly #target: FetchTarget;
  readonly #redactor: Redactor;
  readonly #connection = new AbortController();
  /** Why the reply ended early, if it did: a timeout, or a failed connection. */
  #abortReason: StreamEndReason | undefined;

  constructor(options: FetchModelOptions, target: FetchTarget, redactor: Redactor) {
    this.#options = options;
    this.#target = target;
    this.#redactor = redactor;
  }

  async *run(
    request: ResponsesRequest,
    signal: AbortSignal,
    report: (roundReport: RoundReport) => void = () => undefined,
  ): AsyncGenerator<Batch, void, void> {
    const plan = this.#createPlan(request);
    if (signal.aborted) return;
    const abortConnection = (): void => this.#connection.abort();
    signal.addEventListener("abort", abortConnection, { once: true });
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    let reply: UpstreamReply<Event> | undefined;
    try {
      const response = await this.#sendRequest(plan, signal);
      if (response === undefined) return;
      reader = response.body?.getReader();
      reply = plan.createReply();
      yield* this.#readReply(reader, reply, signal);
    } finally {
      signal.removeEventListener("abort", abortConnection);
      report({ repairs: Object.fromEntries(plan.repairs.counts), upstream: this.#target.url });
      const isComplete = reply?.ended === true && reply.failure === undefined;
      if (isComplete && reader !== undefined && !signal.aborted) void this.#drain(reader);
      else this.#connection.abort();
    }
  }

  #createPlan(request: ResponsesRequest): RequestPlan {
    const { speaks, profile } = this.#options;
    const upstream = this.#target.url;
    const newId = (prefix: string): string => `${prefix}_${randomUUID().replaceAll("-", "")}`;
    const now = Math.floor(Date.now() / 1000);
    try {
      return buildRequestPlan(request, {
        upstream,
        speaks,
        profile,
        newId,
        now,
        redactor: this.#redactor,
      });
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      throw new ModelError(error.code, error.message, { cause: error });
    }
  }

  /** Returns undefined if the caller has aborted. */
  async #sendRequest(plan: RequestPlan, signal: AbortSignal): Promise<Response | undefined> {
    const { baseUrl, apiKey, headers, fetch = globalThis.fetch } = this.#options;
    const timer = this.#abortAfter(
      this.#options.idleTimeoutMs ?? defaultIdleTimeoutMs,
      "idle_timeout",
    );
    let response: Response;
    try {
      response = await fetch(joinUrl(baseUrl, plan.path), {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "text/event-stream",
          ...headers,
          ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        },
        body: JSON.stringify(plan.body),
        // Redirects could send the key to another server.
        redirect: "manual",
        signal: this.#connection.signal,
      });
    } catch (error) {
      if (signal.aborted) return undefined;
      throw toUnreachableError(
        error,
        this.#abortReason === "idle_timeout",
        this.#target,
        this.#redactor,
      );
    } finally {
      clearTimeout(timer);
    }
    if (response.ok) return response;
    const errorBody = await this.#readErrorBody(response);
    if (signal.aborted) return undefined;
    const { status, headers: responseHeaders } = response;
    const location = responseHeaders.get("location") ?? undefined;
    const retryAfterMs = parseRetryAfter(responseHeaders, Date.now());
    throw toRejectionError(
      { status, location, retryAfterMs, body: errorBody },
      this.#target,
      this.#redactor,
    );
  }

  async *#readReply(
    reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
    reply: UpstreamReply<Event>,
    signal: AbortSignal,
  ): AsyncGenerator<Batch, void, void> {
    let hasSentEvents = false;
    let size = 0;
    let graceDeadline: number | undefined;
    let progress = { count: 0, at: performance.now() };
    const { idleTimeoutMs = defaultIdleTimeoutMs } = this.#options;
    while (!reply.ended) {
      if (reply.awaitsEnd) graceDeadline ??= performance.now() + endGraceMs;
      const bytes = await this.#readChunk(reader, graceDeadline);
      if (signal.aborted) return;
      let events: Event[] = [];
      size += bytes?.length ?? 0;
      try {
        if (bytes === undefined) reply.end(this.#abortReason ?? "eof", events);
        else if (size > maxReplyBytes) reply.fail(replyTooLarge, events);
        else reply.push(bytes, events);
        if (reply.progress !== progress.count)
          progress = { count: reply.progress, at: performance.now() };
        else if (performance.now() - progress.at > idleTimeoutMs * maxIdleFactor)
          reply.end("idle_timeout", events);
      } catch (error) {
        if (!(error instanceof WireError)) throw error;
        events = [];
        reply.fail({ code: replyTooLarge.code, message: error.message }, events);
      }
      const emptyReplyFailure =
        bytes === undefined && !reply.hasBegun ? this.#createEmptyReplyFailure() : undefined;
      const failure = reply.rejection ?? reply.failure ?? emptyReplyFailure;
      if (failure !== undefined && !hasSentEvents)
        throw toReplyError(failure, this.#target, this.#redactor);
      if (events.length === 0) continue;
      hasSentEvents = true;
      yield events;
    }
  }

  #createEmptyReplyFailure(): UpstreamFailure {
    const code = this.#abortReason === "idle_timeout" ? "upstream_timeout" : "upstream_error";
    return { code, message: "the reply was empty" };
  }

  /** Returns undefined at the end of the body, or if the connection failed; then `#abortReason` is set. */
  async #readChunk(
    reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
    graceDeadline: number | undefined,
  ): Promise<Uint8Array | undefined> {
    const { idleTimeoutMs = defaultIdleTimeoutMs } = this.#options;
    // The timer only runs while waiting for data, so a slow consumer does not cause a timeout.
    const timer =
      graceDeadline === undefined
        ? this.#abortAfter(idleTimeoutMs, "idle_timeout")
        : this.#abortAfter(Math.max(0, graceDeadline - performance.now()), "grace");
    try {
      return (await reader?.read())?.value;
    } catch (error) {
      this.#abortReason ??= isTimeout(error) ? "idle_timeout" : "transport_error";
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  #abortAfter(ms: number, reason: StreamEndReason): NodeJS.Timeout {
    return setTimeout(() => {
      this.#abortReason = reason;
      this.#connection.abort();
    }, ms);
  }

  async #readErrorBody(response: Response): Promise<string> {
    const timer = this.#abortAfter(errorBodyTimeoutMs, "idle_timeout");
    const utf8 = new TextDecoder();
    let errorBody = "";
    try {
      for await (const bytes of response.body ?? []) {
        errorBody += utf8.decode(bytes, { stream: true });
        if (errorBody.length >= maxErrorBodyLength) break;
      }
    } catch {
      // The part that was read is used.
    } finally {
      clearTimeout(timer);
    }
    return errorBody.slice(0, maxErrorBodyLength);
  }

  /** Reads to the end of the body after the last event, so that the connection can be reused. */
  async #drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const timer = this.#abortAfter(endGraceMs, "grace").unref();
    try {
      while (!(await reader.read()).done);
    } catch {
      // The connection was closed.
    } finally {
      clearTimeout(timer);
    }
  }
}

function joinUrl(baseUrl: string, path: string): string {
  const url = new URL(baseUrl);
  url.pathname = url.pathname.replace(/\/+$/, "") + path;
  return url.href;
}

/** Removes the password and the query, which may contain a key, so that the URL can be used in messages. */
function stripUrlSecrets(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return `${origin}${pathname}`.replace(/\/+$/, "");
}

/** True for the timeouts that Node's `fetch` applies itself. */
function isTimeout(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: string } };
  return /TIMEOUT/.test(cause?.code ?? "");
}
