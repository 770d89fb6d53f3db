import { assertNever } from "@deltawire/tasks";
import type { RoundReport } from "@deltawire/agent";
import type { JsonObject, ResponsesRequest } from "@deltawire/wire";
import { toErrorReply } from "../gateway-error.ts";
import type { Lesson } from "../learning/lesson.ts";
import {
  createLinksLesson,
  deriveMediaLesson,
  buildMediaQuirks,
} from "../learning/derive-media-lesson.ts";
import type { FailedAttempt, AttemptOutcome } from "../upstream/attempt-outcome.ts";
import { gatewayClientName, RequestSource } from "../upstream/request-source.ts";
import type {
  UpstreamConnection,
  UpstreamHeaders,
  UpstreamReplyReader,
} from "../upstream/send-request.ts";
import type { ExchangeRecord, PreparedRequest } from "../upstream/upstream-client.ts";
import type { Upstream, UpstreamRequest } from "../upstream/upstream.ts";
import type { EventQueue } from "../tasks/event-queue.ts";
import {
  buildFailedEvent,
  toRelayModelError,
  toRoundReport,
  type RelayModelOptions,
} from "../tasks/relay-model.ts";
import {
  buildEndpointRequest,
  getPreviewCount,
  parseMediaRequest,
  type EndpointRequest,
  type MediaModelType,
  type MediaRequest,
} from "./endpoint-request.ts";
import { downloadReturnedImage } from "./download-returned-image.ts";
import { createTooLargeOutcome, type MediaReply, type ReplyHead } from "./media-reply.ts";
import { ImageReply, type ImageLink } from "./image-reply.ts";
import { MessageEvents, ImageEvents, buildProgressEvent } from "./media-events.ts";
import { SpeechReply } from "./speech-reply.ts";
import { TranscriptReply } from "./transcript-reply.ts";
import { createEmptyMediaUsage } from "./media-usage.ts";

export interface MediaModelOptions extends RelayModelOptions {
  /** Interval of progress events, in milliseconds; default 3000. */
  progressIntervalMs?: number;
}

/** Limit of one reply, including previews. */
const maxReplyBytes = 100 * 1024 * 1024;
const defaultProgressIntervalMs = 3000;
/** Limits for images that upstreams return as links. */
const maxLinks = 16;
const maxImageBytes = 32 * 1024 * 1024;
const imageFetchTimeoutMs = 60_000;

const mediaLabels: Record<MediaModelType, string> = {
  "image-gen": "an image",
  "image-edit": "an edited image",
  "audio-stt": "a transcript",
  "audio-tts": "speech",
};

/** One request to a media model. */
export class MediaRound {
  readonly #options: MediaModelOptions;
  readonly #queue: EventQueue;
  readonly #name: string;
  readonly #type: MediaModelType;
  readonly #record: ExchangeRecord = { attempts: 0, lessons: [], repairs: new Map() };
  readonly #startedAt = performance.now();
  #reply: MediaReply | undefined;
  /** True if part of the answer has been sent, which cannot be retracted. */
  #hasSentOutput = false;
  /** True if no output has been sent since the last tick. */
  #isQuiet = true;

  constructor(options: MediaModelOptions, queue: EventQueue, name: string, type: MediaModelType) {
    this.#options = options;
    this.#queue = queue;
    this.#name = name;
    this.#type = type;
  }

  async run(request: ResponsesRequest, report: (notes: RoundReport) => void): Promise<void> {
    const {
      relay,
      resolveTargets,
      onRound,
      progressIntervalMs = defaultProgressIntervalMs,
    } = this.#options;
    const { signal } = this.#queue;
    if (signal.aborted) return;
    const timer = setInterval(() => this.#tick(), progressIntervalMs).unref();
    let failure: unknown;
    try {
      const mediaRequest = parseMediaRequest(request, this.#type);
      const targets = await resolveTargets(this.#name);
      const source = new RequestSource(gatewayClientName, request);
      await relay.request(
        { targets, source, signal, record: this.#record },
        (upstream, model, lessons) => this.#prepare(upstream, model, lessons, mediaRequest),
      );
    } catch (error) {
      failure = error;
    } finally {
      clearInterval(timer);
      if (!signal.aborted) report(toRoundReport(this.#record));
      if (failure === undefined) this.#queue.end();
      else this.#queue.fail(toRelayModelError(failure));
      onRound?.({
        ownerId: request.prompt_cache_key ?? undefined,
        model: this.#name,
        ms: performance.now() - this.#startedAt,
        clientDisconnected: signal.aborted,
        failure: failure === undefined ? undefined : toErrorReply(failure).code,
        record: this.#record,
      });
    }
  }

  #prepare(
    { config }: Upstream,
    model: string,
    lessons: readonly Lesson[],
    mediaRequest: MediaRequest,
  ): PreparedRequest {
    const { relay } = this.#options;
    const type = this.#type;
    const quirks = buildMediaQuirks(
      [...relay.lessons.getLessons(config.name, model), ...lessons],
      type,
    );
    let addedParameters: EndpointRequest["addedParameters"] = new Set();
    return {
      send: async (request) => {
        if (lessons.length === 0)
          this.#reportProgress(`requested ${mediaLabels[type]} from ${config.name}`);
        const endpointRequest = await buildEndpointRequest(mediaRequest, model, quirks);
        addedParameters = endpointRequest.addedParameters;
        const outcome = await this.#send(request, endpointRequest, mediaRequest);
        if (outcome.type !== "answered" || this.#links.length === 0) return outcome;
        const fetchOutcome = await this.#fetchLinks(request.upstream);
        return fetchOutcome.type === "answered"
          ? { ...fetchOutcome, lesson: createLinksLesson(type) }
          : fetchOutcome;
      },
      deriveLesson: (rejection) =>
        deriveMediaLesson(rejection, {
          modelType: type,
          addedParameters,
          prompt: mediaRequest.prompt.text,
        }),
    };
  }

  #send(
    request: UpstreamRequest,
    endpointRequest: EndpointRequest,
    mediaRequest: MediaRequest,
  ): Promise<AttemptOutcome> {
    const { path, headers, body } = endpointRequest;
    const { signal } = this.#queue;
    this.#reply = undefined;
    return request.send(
      { path, headers, body },
      {
        signal,
        createReader: (connection) =>
          this.#createReader(request.upstream, mediaRequest, connection),
      },
    );
  }

  #createReader(
    upstream: Upstream,
    mediaRequest: MediaRequest,
    connection: UpstreamConnection,
  ): UpstreamReplyReader {
    const out: JsonObject[] = [];
    let size = 0;
    const feedReply = (read: (reply: MediaReply) => void): FailedAttempt | undefined => {
      const reply = this.#reply;
      if (reply === undefined) return undefined;
      read(reply);
      if (out.length > 0) {
        this.#hasSentOutput = true;
        this.#isQuiet = false;
        this.#queue.push(out.splice(0));
      }
      return reply.failure;
    };
    const fail = (failure: FailedAttempt): void =>
      connection.finish(this.#fail(failure, upstream), "abort");
    const complete = (): void =>
      connection.finish(this.#links.length > 0 ? answeredOutcome : this.#complete());
    return {
      begin: (_status, headers) => {
        this.#reply = createMediaReply(mediaRequest, toReplyHead(headers));
      },
      push: (bytes) => {
        size += bytes.length;
        const failure =
          size > maxReplyBytes
            ? createTooLargeOutcome(maxReplyBytes)
            : feedReply((reply) => reply.push(bytes, out));
        if (failure !== undefined) fail(failure);
        else if (this.#reply?.isComplete === true) connection.awaitEnd();
      },
      end: (endReason, cause) => {
        const isBroken = endReason !== "eof" && this.#reply?.isComplete !== true;
        const timedOut = endReason === "idle_timeout";
        if (isBroken)
          return fail({
            type: "unreachable",
            connected: true,
            endedWithoutReply: true,
            timedOut,
            cause,
          });
        // The result is complete, so it does not matter how the connection ended.
        const failure =
          endReason === "eof" || endReason === "grace"
            ? feedReply((reply) => reply.end(out))
            : undefined;
        if (failure === undefined) complete();
        else fail(failure);
      },
    };
  }

  get #links(): readonly ImageLink[] {
    return this.#reply instanceof ImageReply ? this.#reply.links : [];
  }

  /**
   * Fetches the images that were returned as links. They have already been generated and paid for: if one cannot be fetched,
   * its link is shown, and the request is not retried.
   */
  async #fetchLinks(upstream: Upstream): Promise<AttemptOutcome> {
    const { signal } = this.#queue;
    const upstreamOrigin = new URL(upstream.config.baseUrl).origin;
    const problems: string[] = [];
    let remainingBytes = maxReplyBytes;
    for (const [linkIndex, { url, index, extraFields }] of this.#links.entries()) {
      const out: JsonObject[] = [];
      const { host, origin, pathname } = new URL(url);
      this.#reportProgress(`fetching the image from ${host}`);
      try {
        if (linkIndex >= maxLinks) throw new Error(`at most ${maxLinks} images are fetched`);
        const maxBytes = Math.min(maxImageBytes, remainingBytes);
        const image = await downloadReturnedImage(url, {
          timeoutMs: imageFetchTimeoutMs,
          maxBytes,
          signal,
          upstreamOrigin,
        });
        remainingBytes -= image.size;
        new ImageEvents(index).pushComplete(image.base64, image.format, extraFields, out);
      } catch (error) {
        if (signal.aborted) return { type: "aborted" };
        // The query of the URL may contain a key.
        problems.push(
          `${origin}${pathname} could not be fetched: ${error instanceof Error ? error.message : String(error)}`,
        );
        const message = new MessageEvents(index);
        message.pushDelta(`The image is at <${url}>`, out);
        message.pushDone(out);
      }
      this.#hasSentOutput = true;
      this.#queue.push(out);
    }
    if (problems.length === 0) return this.#complete();
    const message = `the upstream returned a link instead of image data, and ${problems.join("; ")}. If it can return image data, set options.media.response_format to "b64_json".`;
    return this.#fail({ type: "failed", failure: { code: "invalid_reply", message } }, upstream);
  }

  #complete(): AttemptOutcome {
    const usage = this.#reply?.usage ?? createEmptyMediaUsage();
    const response = { object: "response", status: "completed", error: null, output: [] };
    this.#queue.push([
      { type: "response.completed", response: { ...response, usage: { ...usage } } },
    ]);
    return { ...answeredOutcome, usage };
  }

  /** Returns the failure if no output has been sent yet, so that the request can be retried. Otherwise ends the stream with it. */
  #fail(outcome: FailedAttempt, upstream: Upstream): AttemptOutcome {
    if (!this.#hasSentOutput) return outcome;
    const error = toRelayModelError(this.#options.relay.toGatewayError(outcome, upstream));
    this.#queue.push([buildFailedEvent(error)]);
    return { ...answeredOutcome, failure: { code: error.code, message: error.message } };
  }

  #tick(): void {
    const isQuiet = this.#isQuiet;
    this.#isQuiet = true;
    if (!isQuiet) return;
    const seconds = Math.round((performance.now() - this.#startedAt) / 1000);
    const { message, fraction } = this.#reply?.progress ?? {
      message: `waiting for ${mediaLabels[this.#type]}`,
      fraction: undefined,
    };
    this.#reportProgress(`${message}: ${seconds} s`, fraction);
  }

  #reportProgress(message: string, fraction?: number): void {
    this.#queue.push([buildProgressEvent(message, fraction)]);
  }
}

const answeredOutcome = { type: "answered", usage: undefined, failure: undefined } as const;

function createMediaReply(mediaRequest: MediaRequest, head: ReplyHead): MediaReply {
  const { type, prompt, parameters } = mediaRequest;
  switch (type) {
    case "image-gen":
    case "image-edit":
      return new ImageReply(head, getPreviewCount(mediaRequest), maxReplyBytes);
    case "audio-stt":
      return new TranscriptReply(head, maxReplyBytes);
    case "audio-tts": {
      const { response_format: format } = parameters;
      return new SpeechReply(head, {
        text: prompt.text,
        format: typeof format === "string" ? format : "mp3",
      });
    }
    default:
      return assertNever(type);
  }
}

function toReplyHead(headers: UpstreamHeaders): ReplyHead {
  const { "content-type": type, "content-length": length } = headers;
  return {
    contentType: Array.isArray(type) ? type[0] : type,
    length: Number(length) > 0 ? Number(length) : undefined,
  };
}
