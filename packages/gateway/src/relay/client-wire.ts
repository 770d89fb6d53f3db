import {
  ChatCollector,
  encodeChatOutput,
  encodeResponseEvent,
  ReplyBudget,
  ResponseCollector,
  sseKeepAlive,
  type ChatOutput,
  type JsonObject,
  type ResponseEvent,
  type ResponsesInput,
} from "@deltawire/wire";

/** An event of either wire, as a client gets it. */
export type Output = ResponseEvent | ResponsesInput | ChatOutput;

/** What differs between clients that speak Responses and clients that speak Chat, once their events are made. */
export interface ClientWire {
  encode(output: Output): string;
  /** Between events, where the wire has no event of its own for it. */
  keepAlive: string;
  /** Puts a complete reply together from its events. */
  collector(maxValues: number): ReplyCollector;
}

export interface ReplyCollector {
  push(output: Output): void;
  /** The complete reply; undefined if it failed or has not begun. */
  readonly reply: JsonObject | undefined;
}

const responses: ClientWire = {
  encode: (output) => encodeResponseEvent(output as ResponseEvent),
  keepAlive: "",
  collector() {
    const collector = new ResponseCollector();
    return {
      push: (output) => collector.push(output as ResponseEvent),
      get reply() {
        return collector.response as JsonObject | undefined;
      },
    };
  },
};

const chat: ClientWire = {
  encode: (output) => encodeChatOutput(output as ChatOutput),
  keepAlive: sseKeepAlive,
  collector(maxValues) {
    const collector = new ChatCollector(new ReplyBudget({ values: maxValues }));
    return {
      push: (output) => collector.push(output as ChatOutput),
      get reply() {
        const { collected } = collector;
        return collected.ok ? (collected.completion as unknown as JsonObject) : undefined;
      },
    };
  },
};

export const clientWires = { responses, chat } as const;
