import {
  ChatBody,
  ChatOverChat,
  ChatOverMessages,
  ChatOverResponses,
  MessagesBody,
  MessagesOverChat,
  MessagesOverMessages,
  MessagesOverResponses,
  Repairs,
  ResponsesBody,
  ResponsesOverChat,
  ResponsesOverMessages,
  ResponsesOverResponses,
  connectMachines,
  genericProfile,
  type ChatStreamEvent,
  type MessageEvent,
  type OpaqueReasoning,
  type ReplyFlags,
  type ResponseEvent,
  type SealReasoning,
  type UpstreamMessageEvent,
  type UpstreamResponseEvent,
  type StreamEndReason,
  type StreamMachine,
  type ToolTranslation,
  type UnsealReasoning,
} from "@deltawire/wire";

export interface PlayOptions {
  tools?: ToolTranslation;
  /** The tool names in the request to the upstream. Defaults to those of `tools`. */
  toolNames?: ReadonlySet<string>;
  end?: StreamEndReason;
  expect?: "stream" | "complete";
  profile?: ReplyFlags;
  /** Defaults to `sealForChecks`. Only used for Messages. */
  seal?: SealReasoning;
}

export interface PlayResult<Out> {
  out: Out[];
  repairs: Repairs;
}

type Reads = Iterable<string | Uint8Array>;

/** Translates the body of a Chat upstream for a Responses client. */
export function playChatToResponses(
  reads: Reads,
  options: PlayOptions = {},
): PlayResult<ResponseEvent> {
  const commonOptions = createCommonOptions(options);
  const tools = options.tools === undefined ? {} : { tools: options.tools };
  const translator = new ResponsesOverChat({ ...commonOptions, ...tools, responseId: "resp_1" });
  return play(new ChatBody(commonOptions), translator, reads, options.end, commonOptions.repairs);
}

/** Translates the body of a Chat upstream for a Chat client. */
export function playChatToChat(
  reads: Reads,
  options: PlayOptions = {},
): PlayResult<ChatStreamEvent> {
  const commonOptions = createCommonOptions(options);
  const translator = new ChatOverChat({ ...commonOptions, ...toToolOptions(options) });
  return play(new ChatBody(commonOptions), translator, reads, options.end, commonOptions.repairs);
}

/** Translates the body of a Responses upstream for a Chat client. */
export function playResponsesToChat(
  reads: Reads,
  options: PlayOptions = {},
): PlayResult<ChatStreamEvent> {
  const commonOptions = createCommonOptions(options);
  const translator = new ChatOverResponses({ ...commonOptions, ...toToolOptions(options) });
  return play(
    new ResponsesBody(commonOptions),
    translator,
    reads,
    options.end,
    commonOptions.repairs,
  );
}

/** Translates the body of a Responses upstream for a Responses client. */
export function playResponsesToResponses(
  reads: Reads,
  options: PlayOptions = {},
): PlayResult<UpstreamResponseEvent> {
  const commonOptions = createCommonOptions(options);
  const translator = new ResponsesOverResponses({ ...commonOptions, responseId: "resp_1" });
  return play(
    new ResponsesBody(commonOptions),
    translator,
    reads,
    options.end,
    commonOptions.repairs,
  );
}

/** Translates the body of a Messages upstream for a Responses client. */
export function playMessagesToResponses(
  reads: Reads,
  options: PlayOptions = {},
): PlayResult<ResponseEvent> {
  const commonOptions = createCommonOptions(options);
  const translator = new ResponsesOverMessages({
    ...commonOptions,
    ...toToolOptions(options),
    tools: options.tools,
    responseId: "resp_1",
    seal: options.seal ?? sealForChecks,
  });
  return play(
    new MessagesBody(commonOptions),
    translator,
    reads,
    options.end,
    commonOptions.repairs,
  );
}

/** Translates the body of a Messages upstream for a Chat client. */
export function playMessagesToChat(
  reads: Reads,
  options: PlayOptions = {},
): PlayResult<ChatStreamEvent> {
  const commonOptions = createCommonOptions(options);
  const translator = new ChatOverMessages({
    ...commonOptions,
    ...toToolOptions(options),
    tools: options.tools,
    seal: options.seal ?? sealForChecks,
  });
  return play(
    new MessagesBody(commonOptions),
    translator,
    reads,
    options.end,
    commonOptions.repairs,
  );
}

/** Translates the body of a Chat upstream for a Messages client. */
export function playChatToMessages(
  reads: Reads,
  options: PlayOptions = {},
): PlayResult<MessageEvent> {
  const commonOptions = createCommonOptions(options);
  const translator = new MessagesOverChat({
    ...commonOptions,
    ...toToolOptions(options),
    tools: options.tools,
    messageId: "msg_1",
    requestedModel: "m",
    seal: options.seal ?? sealForChecks,
  });
  return play(new ChatBody(commonOptions), translator, reads, options.end, commonOptions.repairs);
}

/** Translates the body of a Responses upstream for a Messages client. */
export function playResponsesToMessages(
  reads: Reads,
  options: PlayOptions = {},
): PlayResult<MessageEvent> {
  const commonOptions = createCommonOptions(options);
  const translator = new MessagesOverResponses({
    ...commonOptions,
    ...toToolOptions(options),
    tools: options.tools,
    messageId: "msg_1",
    requestedModel: "m",
    seal: options.seal ?? sealForChecks,
  });
  return play(
    new ResponsesBody(commonOptions),
    translator,
    reads,
    options.end,
    commonOptions.repairs,
  );
}

/** Repairs the body of a Messages upstream for a Messages client. */
export function playMessagesToMessages(
  reads: Reads,
  options: PlayOptions = {},
): PlayResult<UpstreamMessageEvent> {
  const commonOptions = createCommonOptions(options);
  const translator = new MessagesOverMessages({
    ...commonOptions,
    messageId: "msg_1",
    requestedModel: "m",
    seal: options.seal ?? sealForChecks,
  });
  return play(
    new MessagesBody(commonOptions),
    translator,
    reads,
    options.end,
    commonOptions.repairs,
  );
}

const sealPrefix = "sealed:";

/** Encodes instead of encrypting, so that the checks need no key. */
export const sealForChecks: SealReasoning = (reasoning) =>
  sealPrefix + Buffer.from(JSON.stringify(reasoning)).toString("base64url");

/** The inverse of `sealForChecks`. */
export const unsealForChecks: UnsealReasoning = (sealed) =>
  sealed.startsWith(sealPrefix)
    ? (JSON.parse(
        Buffer.from(sealed.slice(sealPrefix.length), "base64url").toString(),
      ) as OpaqueReasoning)
    : undefined;

/** Creates the options that all bodies and translators share. */
function createCommonOptions({ expect = "stream", profile = genericProfile }: PlayOptions) {
  const repairs = new Repairs();
  return {
    repairs,
    utf8: new TextDecoder(),
    expect,
    profile,
    newId: createIdCounter(),
    createdAt: 1,
  };
}

function toToolOptions({ tools, toolNames = tools?.upstreamNames }: PlayOptions) {
  return {
    ...(toolNames === undefined ? {} : { toolNames }),
    ...(tools?.schemas === undefined ? {} : { toolSchemas: tools.schemas }),
  };
}

/** Splits bytes into reads of the given lengths. The remaining bytes are the last read. */
export function splitAt(bytes: Uint8Array, lengths: readonly number[]): Uint8Array[] {
  const reads: Uint8Array[] = [];
  let offset = 0;
  for (const length of lengths) {
    reads.push(bytes.subarray(offset, offset + length));
    offset += length;
  }
  if (offset < bytes.length) reads.push(bytes.subarray(offset));
  return reads;
}

export function splitIntoBytes(bytes: Uint8Array): Uint8Array[] {
  return Array.from(bytes, (_, offset) => bytes.subarray(offset, offset + 1));
}

function play<Input, Out>(
  body: StreamMachine<string | Uint8Array, Input>,
  translator: StreamMachine<Input, Out>,
  reads: Reads,
  end: StreamEndReason | undefined,
  repairs: Repairs,
): PlayResult<Out> {
  const machine = connectMachines(body, translator);
  const out: Out[] = [];
  for (const read of reads) machine.push(read, out);
  machine.end(end ?? "eof", out);
  return { out, repairs };
}

function createIdCounter(): (prefix: string) => string {
  let count = 0;
  return (prefix) => `${prefix}_${String((count += 1)).padStart(6, "0")}`;
}
