import { randomUUID } from "node:crypto";
import type {
  JsonObject,
  Profile,
  ResponseEvent,
  ResponsesRequest,
  StreamEnd,
  UpstreamFailure,
  UpstreamReply,
} from "@deltawire/wire";
import { WireError } from "@deltawire/wire";
import { planFor, type Plan } from "./fetch-model/plan.ts";
import {
  failureOf,
  refusalOf,
  retryAfter,
  unreachableOf,
  type Place,
} from "./fetch-model/refusal.ts";
import { ModelError, type Model, type RoundNotes } from "../model.ts";
import { Redactor } from "../redaction/redactor.ts";
import { secretsIn, secretsOfUrl } from "../redaction/secret-values.ts";

export interface FetchModelOptions {
  /** Where `/chat/completions` or `/responses` is below: `https://api.example.com/v1`. A query stays at the end. */
  baseUrl: string;
  /** Sent as a bearer; a server that wants it elsewhere gets it by `headers`. */
  apiKey?: string;
  headers?: Readonly<Record<string, string>>;
  /** As the server knows it; what a request names unless it is told. */
  model?: string;
  speaks: "chat" | "responses";
  /** How a Chat server differs from others: `profileNamed("deepseek")`. */
  profile?: Profile;
  /** How long it may be silent, before its first byte and later; five minutes unless it says otherwise. */
  idleTimeoutMs?: number;
  fetch?: typeof globalThis.fetch;
}

/** One server, without a gateway: nothing is tried again here and nothing is learned, but every reply is mended. */
export function fetchModel(options: FetchModelOptions): Model {
  const { baseUrl, apiKey, model, headers = {} } = options;
  const redactor = new Redactor([
    apiKey ?? "",
    ...secretsIn(Object.entries(headers)),
    ...secretsOfUrl(new URL(baseUrl)),
  ]);
  const place: Place = { at: withoutSecrets(baseUrl), hasKey: apiKey !== undefined };
  const named = model === undefined ? {} : { model };
  return {
    ...(model === undefined ? {} : { name: model }),
    stream: (request, signal, report) =>
      new Exchange(options, place, redactor).run({ ...request, ...named }, signal, report),
  };
}

/** What may come after the finish has this long. */
const graceMs = 1000;
const usualIdleMs = 300_000;
/** A reply of nothing but comments and empty events may take this many times as long. */
const idleTimes = 6;
/** The words of a refusal: how long they may take, and how many are kept. */
const refusalMs = 5000;
const refusalLength = 64 * 1024;
/** What a reply may have in all; its words are kept until its end. */
const mostBytes = 128 * 1024 * 1024;

const tooLarge: UpstreamFailure = {
  code: "reply_too_large",
  message: `the reply has more than ${mostBytes} bytes, which is the limit`,
};

type Event = ResponseEvent | JsonObject;
type Batch = readonly Event[];

class Exchange {
  readonly #options: FetchModelOptions;
  readonly #place: Place;
  readonly #redactor: Redactor;
  readonly #connection = new AbortController();
  /** Why the connection was ended here. */
  #cut: StreamEnd | undefined;

  constructor(options: FetchModelOptions, place: Place, redactor: Redactor) {
    this.#options = options;
    this.#place = place;
    this.#redactor = redactor;
  }

  async *run(
    request: ResponsesRequest,
    signal: AbortSignal,
    report: (notes: RoundNotes) => void = () => undefined,
  ): AsyncGenerator<Batch, void, void> {
    const plan = this.#plan(request);
    if (signal.aborted) return;
    const leave = (): void => this.#connection.abort();
    signal.addEventListener("abort", leave, { once: true });
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    let reply: UpstreamReply<Event> | undefined;
    try {
      const response = await this.#ask(plan, signal);
      if (response === undefined) return;
      reader = response.body?.getReader();
      reply = plan.reply();
      yield* this.#read(reader, reply, signal);
    } finally {
      signal.removeEventListener("abort", leave);
      report({ repairs: Object.fromEntries(plan.repairs.counts), upstream: this.#place.at });
      const isWhole = reply?.ended === true && reply.failure === undefined;
      if (isWhole && reader !== undefined && !signal.aborted) void this.#letEnd(reader);
      else this.#connection.abort();
    }
  }

  #plan(request: ResponsesRequest): Plan {
    const { speaks, profile } = this.#options;
    const upstream = this.#place.at;
    const newId = (prefix: string): string => `${prefix}_${randomUUID().replaceAll("-", "")}`;
    const now = Math.floor(Date.now() / 1000);
    try {
      return planFor(request, { upstream, speaks, profile, newId, now, redactor: this.#redactor });
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      throw new ModelError(error.code, error.message, { cause: error });
    }
  }

  /** Undefined: the caller has left. */
  async #ask(plan: Plan, signal: AbortSignal): Promise<Response | undefined> {
    const { baseUrl, apiKey, headers, fetch = globalThis.fetch } = this.#options;
    const timer = this.#cutAfter(this.#options.idleTimeoutMs ?? usualIdleMs, "idle_timeout");
    let response: Response;
    try {
      response = await fetch(below(baseUrl, plan.path), {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "text/event-stream",
          ...headers,
          ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        },
        body: JSON.stringify(plan.body),
        // A key is never sent where a redirect says.
        redirect: "manual",
        signal: this.#connection.signal,
      });
    } catch (error) {
      if (signal.aborted) return undefined;
      throw unreachableOf(error, this.#cut === "idle_timeout", this.#place, this.#redactor);
    } finally {
      clearTimeout(timer);
    }
    if (response.ok) return response;
    const words = await this.#wordsOf(response);
    if (signal.aborted) return undefined;
    const { status, headers: told } = response;
    const location = told.get("location") ?? undefined;
    const retryAfterMs = retryAfter(told, Date.now());
    throw refusalOf({ status, location, retryAfterMs, words }, this.#place, this.#redactor);
  }

  async *#read(
    reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
    reply: UpstreamReply<Event>,
    signal: AbortSignal,
  ): AsyncGenerator<Batch, void, void> {
    let sent = false;
    let size = 0;
    let graceEnds: number | undefined;
    let progress = { count: 0, at: performance.now() };
    const { idleTimeoutMs = usualIdleMs } = this.#options;
    while (!reply.ended) {
      if (reply.awaitsEnd) graceEnds ??= performance.now() + graceMs;
      const bytes = await this.#next(reader, graceEnds);
      if (signal.aborted) return;
      let events: Event[] = [];
      size += bytes?.length ?? 0;
      try {
        if (bytes === undefined) reply.end(this.#cut ?? "eof", events);
        else if (size > mostBytes) reply.fail(tooLarge, events);
        else reply.push(bytes, events);
        if (reply.progress !== progress.count)
          progress = { count: reply.progress, at: performance.now() };
        else if (performance.now() - progress.at > idleTimeoutMs * idleTimes)
          reply.end("idle_timeout", events);
      } catch (error) {
        if (!(error instanceof WireError)) throw error;
        events = [];
        reply.fail({ code: tooLarge.code, message: error.message }, events);
      }
      const unbegun = bytes === undefined && !reply.begun ? this.#neverBegan() : undefined;
      const failure = reply.refusal ?? reply.failure ?? unbegun;
      if (failure !== undefined && !sent) throw failureOf(failure, this.#place, this.#redactor);
      if (events.length === 0) continue;
      sent = true;
      yield events;
    }
  }

  #neverBegan(): UpstreamFailure {
    const code = this.#cut === "idle_timeout" ? "upstream_timeout" : "upstream_error";
    return { code, message: "the reply ended before it began" };
  }

  /** Undefined: no more comes, and `#cut` says why if it is not that the body has ended. */
  async #next(
    reader: ReadableStreamDefaultReader<Uint8Array> | undefined,
    graceEnds: number | undefined,
  ): Promise<Uint8Array | undefined> {
    const { idleTimeoutMs = usualIdleMs } = this.#options;
    // Time counts only while somebody waits: a caller that is slow to take a batch costs the server nothing.
    const timer =
      graceEnds === undefined
        ? this.#cutAfter(idleTimeoutMs, "idle_timeout")
        : this.#cutAfter(Math.max(0, graceEnds - performance.now()), "grace");
    try {
      return (await reader?.read())?.value;
    } catch (error) {
      this.#cut ??= isTimeout(error) ? "idle_timeout" : "transport_error";
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  #cutAfter(ms: number, how: StreamEnd): NodeJS.Timeout {
    return setTimeout(() => {
      this.#cut = how;
      this.#connection.abort();
    }, ms);
  }

  async #wordsOf(response: Response): Promise<string> {
    const timer = this.#cutAfter(refusalMs, "idle_timeout");
    const utf8 = new TextDecoder();
    let words = "";
    try {
      for await (const bytes of response.body ?? []) {
        words += utf8.decode(bytes, { stream: true });
        if (words.length >= refusalLength) break;
      }
    } catch {
      // What has come of them has to do.
    } finally {
      clearTimeout(timer);
    }
    return words.slice(0, refusalLength);
  }

  /** Behind its last event a server only has to close; so it may, and the connection can be used again. */
  async #letEnd(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const timer = this.#cutAfter(graceMs, "grace").unref();
    try {
      while (!(await reader.read()).done);
    } catch {
      // It has been cut.
    } finally {
      clearTimeout(timer);
    }
  }
}

function below(baseUrl: string, path: string): string {
  const url = new URL(baseUrl);
  url.pathname = url.pathname.replace(/\/+$/, "") + path;
  return url.href;
}

/** For messages: without a password, and without a query, which may hold a key. */
function withoutSecrets(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return `${origin}${pathname}`.replace(/\/+$/, "");
}

/** Node's `fetch` has limits of its own. */
function isTimeout(error: unknown): boolean {
  const { cause } = error as { cause?: { code?: string } };
  return /TIMEOUT/.test(cause?.code ?? "");
}
