import {
  ChatCollector,
  encodeChatEvent,
  encodeMessageEvent,
  encodeResponseEvent,
  MessageCollector,
  ReplyBudget,
  ResponseCollector,
  sseDone,
  sseKeepAlive,
  type ChatStreamEvent,
  type JsonObject,
  type MessageEvent,
  type ResponseEvent,
  type UpstreamMessageEvent,
  type UpstreamResponseEvent,
} from "@deltawire/wire";

/** An event of any API, as the client receives it. */
export type ClientEvent =
  | ResponseEvent
  | UpstreamResponseEvent
  | ChatStreamEvent
  | MessageEvent
  | UpstreamMessageEvent;

/** How events are sent to clients of one API. */
export interface ClientWire {
  encode(event: ClientEvent): string;
  /** Sent between events; empty if the wire has its own keep-alive event. */
  keepAlive: string;
  /** Sent after the last event; empty if that is `[DONE]` itself. Open Responses requires it, and Codex skips it. */
  streamEnd: string;
  /** Creates a collector that assembles a complete reply from its events. */
  createCollector(maxValues: number): ReplyCollector;
}

export interface ReplyCollector {
  push(event: ClientEvent): void;
  /** The complete reply; undefined if it failed or has not started. */
  readonly reply: JsonObject | undefined;
}

const responsesClientWire: ClientWire = {
  encode: (event) => encodeResponseEvent(event as ResponseEvent),
  keepAlive: "",
  streamEnd: sseDone,
  createCollector() {
    const collector = new ResponseCollector();
    return {
      push: (event) => collector.push(event as ResponseEvent),
      get reply() {
        return collector.response as JsonObject | undefined;
      },
    };
  },
};

const chatClientWire: ClientWire = {
  encode: (event) => encodeChatEvent(event as ChatStreamEvent),
  keepAlive: sseKeepAlive,
  streamEnd: "",
  createCollector(maxValues) {
    const collector = new ChatCollector(new ReplyBudget({ values: maxValues }));
    return {
      push: (event) => collector.push(event as ChatStreamEvent),
      get reply() {
        const { result } = collector;
        return result.ok ? (result.completion as unknown as JsonObject) : undefined;
      },
    };
  },
};

const messagesClientWire: ClientWire = {
  encode: (event) => encodeMessageEvent(event as MessageEvent),
  keepAlive: "",
  streamEnd: "",
  createCollector() {
    const collector = new MessageCollector();
    return {
      push: (event) => collector.push(event as MessageEvent),
      get reply() {
        const { result } = collector;
        return result?.ok === true ? (result.message as unknown as JsonObject) : undefined;
      },
    };
  },
};

export const clientWires = {
  responses: responsesClientWire,
  chat: chatClientWire,
  messages: messagesClientWire,
} as const;
