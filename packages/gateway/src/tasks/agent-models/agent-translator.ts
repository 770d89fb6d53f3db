import {
  encodeChatOutput,
  encodeResponseEvent,
  sseKeepAlive,
  type ChatOutput,
  type ResponseEvent,
} from "@deltawire/wire";
import type { TaskEvent } from "@deltawire/tasks";
import type { AgentChat } from "./agent-chat.ts";
import type { AgentReply } from "./agent-reply.ts";
import type { TaskTranslator } from "../follow/translated-task.ts";

/** How a reply's events become what the client reads. */
interface ReplyWire {
  /** Before the first event, so that the client hears that its request was taken. */
  readonly opening: string;
  encode(events: readonly ResponseEvent[]): string;
  sign(reply: AgentReply): string;
}

export const responsesWire: ReplyWire = {
  opening: "",
  encode: (events) => events.map(encodeResponseEvent).join(""),
  sign(reply) {
    const events: ResponseEvent[] = [];
    reply.keepAlive(events);
    return events.map(encodeResponseEvent).join("");
  },
};

export function chatWire(chat: AgentChat): ReplyWire {
  return {
    opening: sseKeepAlive,
    encode(events) {
      const outputs: ChatOutput[] = [];
      for (const event of events) chat.push(event, outputs);
      return outputs.map(encodeChatOutput).join("");
    },
    sign: () => sseKeepAlive,
  };
}

/** For a client that wants its reply in one piece. */
export const noWire: ReplyWire = { opening: "", encode: () => "", sign: () => "" };

/** An agent's task, told as the reply of a model. */
export class AgentTranslator implements TaskTranslator {
  readonly #reply: AgentReply;
  readonly #wire: ReplyWire;
  #opening: string;

  constructor(reply: AgentReply, wire: ReplyWire) {
    this.#reply = reply;
    this.#wire = wire;
    this.#opening = wire.opening;
  }

  get isOver(): boolean {
    return this.#reply.ended;
  }

  translate(events: readonly TaskEvent[]): string {
    const said: ResponseEvent[] = [];
    for (const event of events) this.#reply.push(event, said);
    const text = this.#opening + this.#wire.encode(said);
    this.#opening = "";
    return text;
  }

  pause(): string {
    const said: ResponseEvent[] = [];
    this.#reply.pause(said);
    return this.#wire.encode(said);
  }

  sign(): string {
    return this.#wire.sign(this.#reply);
  }
}
