import {
  encodeChatEvent,
  encodeMessageEvent,
  encodeResponseEvent,
  sseDone,
  sseKeepAlive,
  type ChatStreamEvent,
  type MessageEvent,
  type MessagesOverResponses,
  type ResponseEvent,
  type UpstreamResponseEvent,
} from "@deltawire/wire";
import type { TaskEvent } from "@deltawire/tasks";
import type { AgentChatStream } from "./agent-chat-stream.ts";
import type { AgentReply } from "./agent-reply.ts";
import type { TaskTranslator } from "../streams/translated-task-writer.ts";

/** Encodes a reply's events for the client. */
interface ReplyEncoding {
  /** Sent before the first event, as a sign that the request was accepted. */
  readonly preamble: string;
  encode(events: readonly ResponseEvent[]): string;
  formatKeepAlive(reply: AgentReply): string;
}

export const responsesEncoding: ReplyEncoding = {
  preamble: "",
  encode: (events) =>
    events
      .map((event) => encodeResponseEvent(event) + (terminalTypes.has(event.type) ? sseDone : ""))
      .join(""),
  formatKeepAlive(reply) {
    const events: ResponseEvent[] = [];
    reply.keepAlive(events);
    return events.map(encodeResponseEvent).join("");
  },
};

const terminalTypes = new Set<string>([
  "response.completed",
  "response.incomplete",
  "response.failed",
]);

export function createChatEncoding(chatStream: AgentChatStream): ReplyEncoding {
  return {
    preamble: sseKeepAlive,
    encode(events) {
      const outputs: ChatStreamEvent[] = [];
      for (const event of events) chatStream.push(event, outputs);
      return outputs.map(encodeChatEvent).join("");
    },
    formatKeepAlive: () => sseKeepAlive,
  };
}

export function createMessagesEncoding(translator: MessagesOverResponses): ReplyEncoding {
  return {
    preamble: "",
    encode(events) {
      const outputs: MessageEvent[] = [];
      for (const event of events)
        translator.push(event as unknown as UpstreamResponseEvent, outputs);
      return outputs.map(encodeMessageEvent).join("");
    },
    formatKeepAlive() {
      const outputs: MessageEvent[] = [];
      translator.keepAlive(outputs);
      return outputs.map(encodeMessageEvent).join("");
    },
  };
}

/** Sends nothing, for clients that do not stream. */
export const noEncoding: ReplyEncoding = {
  preamble: "",
  encode: () => "",
  formatKeepAlive: () => "",
};

/** Translates an agent's task to a model's reply, encoded for the client. */
export class AgentTranslator implements TaskTranslator {
  readonly #reply: AgentReply;
  readonly #encoding: ReplyEncoding;
  #preamble: string;

  constructor(reply: AgentReply, encoding: ReplyEncoding) {
    this.#reply = reply;
    this.#encoding = encoding;
    this.#preamble = encoding.preamble;
  }

  get isDone(): boolean {
    return this.#reply.hasEnded;
  }

  translate(events: readonly TaskEvent[]): string {
    const responseEvents: ResponseEvent[] = [];
    for (const event of events) this.#reply.push(event, responseEvents);
    const text = this.#preamble + this.#encoding.encode(responseEvents);
    this.#preamble = "";
    return text;
  }

  onCaughtUp(): string {
    const responseEvents: ResponseEvent[] = [];
    this.#reply.onCaughtUp(responseEvents);
    return this.#encoding.encode(responseEvents);
  }

  formatKeepAlive(): string {
    return this.#encoding.formatKeepAlive(this.#reply);
  }
}
