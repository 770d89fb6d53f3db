import {
  ChatBody,
  chatRequest,
  errorIn,
  errorOfEvent,
  estimateRequestTokens,
  genericProfile,
  mendedResponsesRequest,
  ResponsesBody,
  ResponsesOverChat,
  ResponsesOverResponses,
  upstreamFailure,
  type ChatInput,
  type JsonObject,
  type Profile,
  type ReasoningCarry,
  type Repairs,
  type ResponseEvent,
  type ResponsesInput,
  type ResponsesRequest,
  type StreamEnd,
  type StreamMachine,
} from "@deltawire/wire";
import type { Redactor } from "../../redaction/redactor.ts";
import { redactChat, redactResponses } from "../../redaction/upstream-reply.ts";

/** What a server is asked, and how its reply is read. */
export interface Plan {
  path: "/chat/completions" | "/responses";
  body: JsonObject;
  /** What has been mended so far, in the request and in the reply. */
  repairs: Repairs;
  reply(): Reply;
}

export interface PlanOptions {
  /** Whose replies they are, without anything secret. */
  upstream: string;
  speaks: "chat" | "responses";
  profile: Profile | undefined;
  newId: (prefix: string) => string;
  /** Seconds since 1970. */
  now: number;
  redactor: Redactor;
}

/** Throws a WireError where the wire has no way to say what is asked. */
export function planFor(request: ResponsesRequest, options: PlanOptions): Plan {
  const asked = { ...request, stream: true, store: false };
  return options.speaks === "chat" ? chatPlan(asked, options) : responsesPlan(asked, options);
}

function chatPlan(request: ResponsesRequest, options: PlanOptions): Plan {
  const { upstream, profile = genericProfile, newId, now, redactor } = options;
  const { body, ...forTheReply } = chatRequest(request, {
    profile,
    parameters: "chosen",
    unseal: (envelope) => opened(envelope, upstream),
  });
  const { repairs } = forTheReply;
  return {
    path: "/chat/completions",
    body,
    repairs,
    reply: () =>
      replyOf<ChatInput>({
        body: new ChatBody({
          repairs,
          redact: redactChat(redactor),
          utf8: new TextDecoder(),
          expect: "stream",
        }),
        translator: new ResponsesOverChat({
          ...forTheReply,
          responseId: newId("resp"),
          createdAt: now,
          newId,
          seal: (carry) => sealed(carry, upstream),
          estimateInputTokens: () => estimateRequestTokens(body),
        }),
        errorOf: (input) => (input === "[DONE]" ? undefined : errorIn(input)),
      }),
  };
}

function responsesPlan(request: ResponsesRequest, options: PlanOptions): Plan {
  const { newId, now, redactor } = options;
  const { body, repairs } = mendedResponsesRequest(request, { isOwnEnvelope, newId });
  return {
    path: "/responses",
    body,
    repairs,
    reply: () =>
      replyOf<ResponsesInput>({
        body: new ResponsesBody({
          repairs,
          redact: redactResponses(redactor),
          utf8: new TextDecoder(),
          expect: "stream",
        }),
        translator: new ResponsesOverResponses({
          repairs,
          responseId: newId("resp"),
          createdAt: now,
          estimateInputTokens: () => estimateRequestTokens(body),
        }),
        errorOf: (input) => (input.type === "error" ? errorOfEvent(input) : undefined),
      }),
  };
}

type Event = ResponseEvent | JsonObject;

interface ReplyParts<In> {
  /** Redacts what it reads. */
  body: StreamMachine<Uint8Array, In>;
  translator: StreamMachine<In, Event> & {
    readonly awaitsEnd?: boolean;
    readonly progress: number;
  };
  /** The error that an event of the server is, if it is one. */
  errorOf: (input: In) => unknown;
}

function replyOf<In>(parts: ReplyParts<In>): Reply {
  return new Reply(parts) as Reply;
}

/** A server's reply: bytes in, events out, and nothing in it waits. */
export class Reply<In = unknown> {
  readonly #parts: ReplyParts<In>;
  readonly #inputs: In[] = [];
  #begun = false;
  /** Whether the last event has been put out, or no event will be. */
  ended = false;
  /** What the reply ended in, if that is no answer. */
  failure: { code: string; message: string } | undefined;

  constructor(parts: ReplyParts<In>) {
    this.#parts = parts;
  }

  /** Only usage and the sentinel can still come. */
  get awaitsEnd(): boolean {
    return !this.ended && this.#parts.translator.awaitsEnd === true;
  }

  /** Grows while the server says something. Comments and empty deltas do not count. */
  get progress(): number {
    return this.#parts.translator.progress;
  }

  push(bytes: Uint8Array, out: Event[]): void {
    this.#parts.body.push(bytes, this.#inputs);
    this.#translate(out);
  }

  end(how: StreamEnd, out: Event[]): void {
    this.#parts.body.end(how, this.#inputs);
    this.#translate(out);
    if (this.ended) return;
    this.ended = true;
    if (this.#begun) {
      this.#parts.translator.end(how, out);
      this.#look(out);
    } else
      this.failure = {
        code: how === "idle_timeout" ? "upstream_timeout" : "upstream_error",
        message: "the reply ended before it began",
      };
  }

  #translate(out: Event[]): void {
    const { translator, errorOf } = this.#parts;
    for (const input of this.#inputs.splice(0)) {
      if (this.ended) break;
      if (!this.#begun) {
        const refusal = errorOf(input);
        if (refusal !== undefined) {
          this.ended = true;
          this.failure = upstreamFailure(refusal);
          break;
        }
        this.#begun = true;
      }
      const from = out.length;
      translator.push(input, out);
      if (out.length > from) this.#look(out);
    }
  }

  /** The end can only be the last of what has just been put out. */
  #look(out: readonly Event[]): void {
    const { type, response } = (out.at(-1) ?? {}) as { type?: string; response?: JsonObject };
    if (
      type !== "response.completed" &&
      type !== "response.incomplete" &&
      type !== "response.failed"
    )
      return;
    this.ended = true;
    if (type !== "response.failed") return;
    const { code, message } = upstreamFailure(response?.["error"] ?? {});
    this.failure = { code, message };
  }
}

/*
 * What a Chat server needs back travels in `encrypted_content` of the caller's own history, which no server but this one
 * gets to see: it is packed, not sealed.
 */

const mark = "dwc1.";

function sealed(carry: ReasoningCarry, upstream: string): string {
  return mark + Buffer.from(JSON.stringify({ upstream, carry })).toString("base64url");
}

/** Undefined for whatever another server gave. */
function opened(envelope: string, upstream: string): ReasoningCarry | undefined {
  if (!isOwnEnvelope(envelope)) return undefined;
  try {
    const text = Buffer.from(envelope.slice(mark.length), "base64url").toString("utf8");
    const packed = JSON.parse(text) as { upstream?: string; carry?: ReasoningCarry };
    return packed.upstream === upstream ? packed.carry : undefined;
  } catch {
    return undefined;
  }
}

function isOwnEnvelope(text: string): boolean {
  return text.startsWith(mark);
}
