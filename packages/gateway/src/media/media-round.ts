import type { RoundNotes } from "@deltawire/agent";
import type { JsonObject, ResponsesRequest } from "@deltawire/wire";
import { problemReply } from "../problem.ts";
import type { Lesson } from "../learning/lesson.ts";
import { linksLesson, mediaLessonOf, mediaQuirks } from "../learning/media-refusals.ts";
import type { FailedOutcome, Outcome } from "../upstream/failure.ts";
import { ownClient, RequestSource } from "../upstream/request-source.ts";
import type { Connection, ReceivedHeaders, ReplyReader } from "../upstream/send-request.ts";
import type { ExchangeRecord, PreparedRequest } from "../upstream/upstream-client.ts";
import type { Upstream, UpstreamRequest } from "../upstream/upstream.ts";
import type { EventQueue } from "../tasks/event-queue.ts";
import { failed, modelError, notesOf, type RelayModelOptions } from "../tasks/relay-model.ts";
import { unreachable } from "../unreachable.ts";
import {
  callFor,
  previewsOf,
  wantedOf,
  type EndpointCall,
  type MediaType,
  type Wanted,
} from "./endpoint-call.ts";
import { fetchPicture } from "./fetch-picture.ts";
import { tooLarge, type MediaReply, type ReplyHead } from "./media-reply.ts";
import { PictureReply, type PictureLink } from "./picture-reply.ts";
import { MessageEvents, PictureEvents, progressEvent } from "./reply-events.ts";
import { SpeechReply } from "./speech-reply.ts";
import { TranscriptReply } from "./transcript-reply.ts";
import { noUsage } from "./usage.ts";

export interface MediaModelOptions extends RelayModelOptions {
  /** How often those who wait are told that it goes on. */
  progressMs?: number;
}

/** Of one reply, previews included. */
const mostBytes = 100 * 1024 * 1024;
const usualProgressMs = 3000;
/** Of pictures that are fetched from where a server points. */
const mostLinks = 16;
const mostPictureBytes = 32 * 1024 * 1024;
const pictureLimits = { timeoutMs: 60_000 };

const wantedWords: Record<MediaType, string> = {
  "image-gen": "a picture",
  "image-edit": "an edited picture",
  "audio-stt": "a transcript",
  "audio-tts": "speech",
};

/** One time that such a model is asked. */
export class MediaRound {
  readonly #options: MediaModelOptions;
  readonly #queue: EventQueue;
  readonly #name: string;
  readonly #type: MediaType;
  readonly #record: ExchangeRecord = { attempts: 0, lessons: [], repairs: new Map() };
  readonly #began = performance.now();
  #reply: MediaReply | undefined;
  /** Something of the answer has been told, and cannot be taken back. */
  #hasTold = false;
  #isQuiet = true;

  constructor(options: MediaModelOptions, queue: EventQueue, name: string, type: MediaType) {
    this.#options = options;
    this.#queue = queue;
    this.#name = name;
    this.#type = type;
  }

  async run(request: ResponsesRequest, report: (notes: RoundNotes) => void): Promise<void> {
    const { relay, targetsOf, onRound, progressMs = usualProgressMs } = this.#options;
    const { signal } = this.#queue;
    if (signal.aborted) return;
    const timer = setInterval(() => this.#tick(), progressMs).unref();
    let failure: unknown;
    try {
      const wanted = wantedOf(request, this.#type);
      const targets = await targetsOf(this.#name);
      const source = new RequestSource(ownClient, request);
      await relay.request(
        { targets, source, signal, record: this.#record },
        (upstream, model, taught) => this.#prepared(upstream, model, taught, wanted),
      );
    } catch (error) {
      failure = error;
    } finally {
      clearInterval(timer);
      if (!signal.aborted) report(notesOf(this.#record));
      if (failure === undefined) this.#queue.end();
      else this.#queue.fail(modelError(failure));
      onRound?.({
        for: request.prompt_cache_key ?? undefined,
        model: this.#name,
        ms: performance.now() - this.#began,
        left: signal.aborted,
        failure: failure === undefined ? undefined : problemReply(failure).code,
        record: this.#record,
      });
    }
  }

  #prepared(
    { config }: Upstream,
    model: string,
    taught: readonly Lesson[],
    wanted: Wanted,
  ): PreparedRequest {
    const { relay } = this.#options;
    const type = this.#type;
    const quirks = mediaQuirks([...relay.lessons.of(config.name, model), ...taught], type);
    let own: EndpointCall["own"] = new Set();
    return {
      send: async (request) => {
        if (taught.length === 0) this.#tell(`asked ${config.name} for ${wantedWords[type]}`);
        const call = await callFor(wanted, model, quirks);
        own = call.own;
        const outcome = await this.#send(request, call, wanted);
        if (outcome.is !== "answered" || this.#links.length === 0) return outcome;
        const fetched = await this.#fetchLinks(request.upstream);
        return fetched.is === "answered" ? { ...fetched, lesson: linksLesson(type) } : fetched;
      },
      lessonFrom: (refusal) =>
        mediaLessonOf(refusal, { endpoint: type, own, text: wanted.message.text }),
    };
  }

  #send(request: UpstreamRequest, call: EndpointCall, wanted: Wanted): Promise<Outcome> {
    const { path, headers, body } = call;
    const { signal } = this.#queue;
    this.#reply = undefined;
    return request.send(
      { path, headers, body },
      { signal, reader: (connection) => this.#reader(request.upstream, wanted, connection) },
    );
  }

  #reader(upstream: Upstream, wanted: Wanted, connection: Connection): ReplyReader {
    const out: JsonObject[] = [];
    let size = 0;
    const take = (read: (reply: MediaReply) => void): FailedOutcome | undefined => {
      const reply = this.#reply;
      if (reply === undefined) return undefined;
      read(reply);
      if (out.length > 0) {
        this.#hasTold = true;
        this.#isQuiet = false;
        this.#queue.push(out.splice(0));
      }
      return reply.failure;
    };
    const fail = (failure: FailedOutcome): void =>
      connection.finish(this.#failed(failure, upstream), "abort");
    const complete = (): void =>
      connection.finish(this.#links.length > 0 ? answered : this.#completed());
    return {
      begin: (_status, headers) => {
        this.#reply = replyFor(wanted, headOf(headers));
      },
      push: (bytes) => {
        size += bytes.length;
        const failure =
          size > mostBytes ? tooLarge(mostBytes) : take((reply) => reply.push(bytes, out));
        if (failure !== undefined) fail(failure);
        else if (this.#reply?.isWhole === true) connection.awaitEnd();
      },
      end: (how, cause) => {
        const isBroken = how !== "eof" && this.#reply?.isWhole !== true;
        const timedOut = how === "idle_timeout";
        if (isBroken)
          return fail({ is: "unreachable", connected: true, answered: true, timedOut, cause });
        // What was asked for has come, however the connection ended.
        const failure =
          how === "eof" || how === "grace" ? take((reply) => reply.end(out)) : undefined;
        if (failure === undefined) complete();
        else fail(failure);
      },
    };
  }

  get #links(): readonly PictureLink[] {
    return this.#reply instanceof PictureReply ? this.#reply.links : [];
  }

  /**
   * Fetches what the reply points at. The pictures have been made and cost something: if one cannot be fetched, its address is
   * shown, and nobody is asked for it again.
   */
  async #fetchLinks(upstream: Upstream): Promise<Outcome> {
    const { signal } = this.#queue;
    const upstreamOrigin = new URL(upstream.config.baseUrl).origin;
    const problems: string[] = [];
    let left = mostBytes;
    for (const [at, { url, index, more }] of this.#links.entries()) {
      const out: JsonObject[] = [];
      const { host, origin, pathname } = new URL(url);
      this.#tell(`fetching the picture from ${host}`);
      try {
        if (at >= mostLinks) throw new Error(`more than ${mostLinks} are not fetched`);
        const maxBytes = Math.min(mostPictureBytes, left);
        const picture = await fetchPicture(url, {
          ...pictureLimits,
          maxBytes,
          signal,
          upstreamOrigin,
        });
        left -= picture.size;
        new PictureEvents(index).whole(picture.base64, picture.format, more, out);
      } catch (error) {
        if (signal.aborted) return { is: "left" };
        // What stands behind the path may be a key to it.
        problems.push(
          `${origin}${pathname} could not be fetched: ${error instanceof Error ? error.message : String(error)}`,
        );
        const message = new MessageEvents(index);
        message.delta(`The picture is at <${url}>`, out);
        message.done(out);
      }
      this.#hasTold = true;
      this.#queue.push(out);
    }
    if (problems.length === 0) return this.#completed();
    const message = `the upstream answered with an address in place of a picture, and ${problems.join("; ")}. If its server can send the picture itself, set options.media.response_format to "b64_json".`;
    return this.#failed({ is: "failed", failure: { code: "invalid_reply", message } }, upstream);
  }

  #completed(): Outcome {
    const usage = this.#reply?.usage ?? noUsage();
    const response = { object: "response", status: "completed", error: null, output: [] };
    this.#queue.push([
      { type: "response.completed", response: { ...response, usage: { ...usage } } },
    ]);
    return { ...answered, usage };
  }

  /** Before anything was told it can be tried again, here or elsewhere. */
  #failed(outcome: FailedOutcome, upstream: Upstream): Outcome {
    if (!this.#hasTold) return outcome;
    const error = modelError(this.#options.relay.problemOf(outcome, upstream));
    this.#queue.push([failed(error)]);
    return { ...answered, failure: { code: error.code, message: error.message } };
  }

  #tick(): void {
    const isQuiet = this.#isQuiet;
    this.#isQuiet = true;
    if (!isQuiet) return;
    const seconds = Math.round((performance.now() - this.#began) / 1000);
    const { words, fraction } = this.#reply?.progress ?? {
      words: `waiting for ${wantedWords[this.#type]}`,
      fraction: undefined,
    };
    this.#tell(`${words}: ${seconds} s`, fraction);
  }

  #tell(message: string, fraction?: number): void {
    this.#queue.push([progressEvent(message, fraction)]);
  }
}

const answered = { is: "answered", usage: undefined, failure: undefined } as const;

function replyFor(wanted: Wanted, head: ReplyHead): MediaReply {
  const { type, message, media } = wanted;
  switch (type) {
    case "image-gen":
    case "image-edit":
      return new PictureReply(head, previewsOf(wanted), mostBytes);
    case "audio-stt":
      return new TranscriptReply(head, mostBytes);
    case "audio-tts": {
      const { response_format: format } = media;
      return new SpeechReply(head, {
        text: message.text,
        format: typeof format === "string" ? format : "mp3",
      });
    }
    default:
      return unreachable(type);
  }
}

function headOf(headers: ReceivedHeaders): ReplyHead {
  const { "content-type": type, "content-length": length } = headers;
  return {
    contentType: Array.isArray(type) ? type[0] : type,
    length: Number(length) > 0 ? Number(length) : undefined,
  };
}
