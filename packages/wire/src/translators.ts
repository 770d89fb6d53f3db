import { ChunkWriter, type ChunkWriterOptions } from "./chat-client/chunk-writer.ts";
import { ChatReader } from "./chat-upstream/chat-reader.ts";
import type { UpstreamChatEvent } from "./chat-upstream/chunk-reader.ts";
import { MessageWriter, type MessageWriterOptions } from "./messages-client/message-writer.ts";
import type { UpstreamMessageEvent } from "./messages-upstream/body.ts";
import { MessageReader } from "./messages-upstream/message-reader.ts";
import { ReplyBudget } from "./reply-budget.ts";
import { ReplyTranslator } from "./reply/reply-translator.ts";
import type { ReplyReaderOptions } from "./reply/reply-reader.ts";
import { UsageEstimator } from "./reply/usage-estimator.ts";
import { Repairs } from "./repairs.ts";
import { ResponseWriter, type ResponseWriterOptions } from "./responses-client/response-writer.ts";
import type { UpstreamResponseEvent } from "./responses-upstream/body.ts";
import { ResponseReader } from "./responses-upstream/response-reader.ts";
import type { ChatStreamEvent } from "./shapes/chat-reply.ts";
import type { MessageEvent } from "./shapes/messages-reply.ts";
import type { ResponseEvent } from "./shapes/responses-reply.ts";
import { genericReplyFlags } from "./upstream-profile.ts";

/*
 * The translators between two wires, each a reader and a writer. A client and an upstream of the same wire have their own
 * translators, because those also forward what no piece contains.
 */

/** The options of every translator that concern the upstream. */
export interface UpstreamOptions
  extends
    Partial<Pick<ReplyReaderOptions, "toolNames" | "toolSchemas" | "usedCallIds" | "tools">>,
    Partial<Pick<ReplyReaderOptions, "profile" | "budget" | "repairs">> {
  /** Estimates the input tokens, for upstreams that report no usage (`estimateRequestTokens`). */
  estimateInputTokens?: () => number;
}

export type ResponsesOverChatOptions = ResponseWriterOptions & UpstreamOptions;

/** Serves a Responses client from a Chat upstream. */
export class ResponsesOverChat extends ReplyTranslator<UpstreamChatEvent, ResponseEvent> {
  constructor(options: ResponsesOverChatOptions) {
    const context = createContext(options);
    const reader = new ChatReader(context.readerOptions);
    super({ ...context, reader, writer: new ResponseWriter(options, { ...context, reader }) });
  }
}

export type ChatOverResponsesOptions = ChunkWriterOptions & UpstreamOptions;

/** Serves a Chat client from a Responses upstream. */
export class ChatOverResponses extends ReplyTranslator<UpstreamResponseEvent, ChatStreamEvent> {
  constructor(options: ChatOverResponsesOptions) {
    const context = createContext(options);
    const reader = new ResponseReader(context.readerOptions);
    super({ ...context, reader, writer: new ChunkWriter(options, { ...context, reader }) });
  }
}

export type ResponsesOverMessagesOptions = ResponseWriterOptions & UpstreamOptions;

/** Serves a Responses client from a Messages upstream. */
export class ResponsesOverMessages extends ReplyTranslator<UpstreamMessageEvent, ResponseEvent> {
  constructor(options: ResponsesOverMessagesOptions) {
    const context = createContext(options);
    const reader = new MessageReader(context.readerOptions);
    super({ ...context, reader, writer: new ResponseWriter(options, { ...context, reader }) });
  }
}

export type ChatOverMessagesOptions = ChunkWriterOptions & UpstreamOptions;

/** Serves a Chat client from a Messages upstream. */
export class ChatOverMessages extends ReplyTranslator<UpstreamMessageEvent, ChatStreamEvent> {
  constructor(options: ChatOverMessagesOptions) {
    const context = createContext(options);
    const reader = new MessageReader(context.readerOptions);
    super({ ...context, reader, writer: new ChunkWriter(options, { ...context, reader }) });
  }
}

export type MessagesOverChatOptions = MessageWriterOptions & UpstreamOptions;

/** Serves a Messages client from a Chat upstream. */
export class MessagesOverChat extends ReplyTranslator<UpstreamChatEvent, MessageEvent> {
  constructor(options: MessagesOverChatOptions) {
    const context = createContext(options);
    const reader = new ChatReader(context.readerOptions);
    super({ ...context, reader, writer: new MessageWriter(options, { ...context, reader }) });
  }
}

export type MessagesOverResponsesOptions = MessageWriterOptions & UpstreamOptions;

/** Serves a Messages client from a Responses upstream. */
export class MessagesOverResponses extends ReplyTranslator<UpstreamResponseEvent, MessageEvent> {
  constructor(options: MessagesOverResponsesOptions) {
    const context = createContext(options);
    const reader = new ResponseReader(context.readerOptions);
    super({ ...context, reader, writer: new MessageWriter(options, { ...context, reader }) });
  }
}

function createContext(options: UpstreamOptions & { newId: (prefix: string) => string }) {
  const { newId, tools, usedCallIds = new Set(), profile = genericReplyFlags } = options;
  const { repairs = new Repairs(), budget = new ReplyBudget() } = options;
  const toolNames = options.toolNames ?? tools?.upstreamNames ?? new Set();
  const toolSchemas = options.toolSchemas ?? tools?.schemas ?? new Map();
  const readerOptions: ReplyReaderOptions = {
    repairs,
    newId,
    toolNames,
    toolSchemas,
    usedCallIds,
    tools,
    profile,
    budget,
  };
  return { repairs, budget, readerOptions, estimator: UsageEstimator.create(options, repairs) };
}
