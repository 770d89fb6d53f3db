export {
  connectMachines,
  connectTranslators,
  type ClientTranslator,
  type StreamEndReason,
  type StreamMachine,
} from "./stream-machine.ts";
export { WireError, type WireErrorCode } from "./error.ts";
export { asString, isObject, parseJson, type JsonObject, type JsonValue } from "./json.ts";
export {
  defaultJsonLimits,
  describeJsonLimit,
  findExceededJsonLimit,
  JsonLimitScanner,
  type JsonLimit,
  type JsonLimits,
} from "./json-limits.ts";
export { Repairs, type Repair, type RepairCode } from "./repairs.ts";
export {
  toChatError,
  unwrapErrorBody,
  isErrorValue,
  connectionErrorReasons,
  unknownFailureMessage,
  parseUpstreamFailure,
  type UpstreamFailure,
} from "./mapping/upstream-error.ts";
export {
  SseDecoder,
  type SseDecoderOptions,
  type SseEvent,
  type StreamingTextDecoder,
} from "./sse/decoder.ts";
export { encodeSse, sseDone, sseKeepAlive } from "./sse/encoder.ts";
export { encodeChatEvent, encodeMessageEvent, encodeResponseEvent } from "./sse/encode-events.ts";
export { ChatBody } from "./chat-upstream/body.ts";
export { findChunkError } from "./chat-upstream/chunk-fields.ts";
export type { ReplyBodyOptions } from "./reply-body.ts";
export { UpstreamReply } from "./upstream-reply.ts";
export {
  repairChatReply,
  translateResponsesReply,
  translateChatReply,
  repairResponsesReply,
  translateMessage,
  translateMessageToChat,
  translateChatReplyToMessage,
  translateResponsesReplyToMessage,
} from "./complete-reply.ts";
export { ChunkReader, type UpstreamChatEvent } from "./chat-upstream/chunk-reader.ts";
export { ChatOverChat, type ChatOverChatOptions } from "./chat-over-chat/stream.ts";
export {
  repairChatRequest,
  type RepairedChatRequest,
  type RepairChatRequestOptions,
} from "./chat-over-chat/request.ts";
export { ResponsesBody, type UpstreamResponseEvent } from "./responses-upstream/body.ts";
export { limitThinkingBudget } from "./messages-upstream/thinking-budget.ts";
export { MessagesBody, type UpstreamMessageEvent } from "./messages-upstream/body.ts";
export {
  ChatOverMessages,
  ChatOverResponses,
  MessagesOverChat,
  MessagesOverResponses,
  ResponsesOverChat,
  ResponsesOverMessages,
  type ChatOverMessagesOptions,
  type ChatOverResponsesOptions,
  type MessagesOverChatOptions,
  type MessagesOverResponsesOptions,
  type ResponsesOverChatOptions,
  type ResponsesOverMessagesOptions,
  type UpstreamOptions,
} from "./translators.ts";
export { toResponseInputItems } from "./chat-over-responses/input-items.ts";
export {
  translateChatRequest,
  type TranslateChatRequestOptions,
  type TranslatedChatRequest,
} from "./chat-over-responses/request.ts";
export {
  ResponsesOverResponses,
  type ResponsesOverResponsesOptions,
} from "./responses-over-responses/stream.ts";
export {
  repairResponsesRequest,
  type RepairedResponsesRequest,
  type RepairResponsesRequestOptions,
} from "./responses-over-responses/request.ts";
export type { ResponsesFlags } from "./responses-upstream/responses-flags.ts";
export { repairHistory, isHistoryRejection, type RepairHistoryOptions } from "./repair-history.ts";
export {
  ChatCollector,
  collectChat,
  collectResponse,
  ResponseCollector,
  type CollectChatResult,
} from "./collect.ts";
export {
  collectMessage,
  MessageCollector,
  type CollectMessageResult,
} from "./messages-client/collect-message.ts";
export { messageErrorStatuses, toMessageError } from "./mapping/message-error.ts";
export type {
  MessageBlock,
  MessageDelta,
  MessageError,
  MessageErrorType,
  MessageEvent,
  MessageObject,
  MessageStopReason,
  MessageUsage,
} from "./shapes/messages-reply.ts";
export { decodeMessagesRequest, type DecodeMessagesOptions } from "./decode/messages-request.ts";
export {
  translateMessagesToChat,
  type TranslatedMessagesToChat,
  type TranslateMessagesToChatOptions,
} from "./messages-over-chat/request.ts";
export {
  translateMessagesToResponses,
  type TranslatedMessagesToResponses,
  type TranslateMessagesToResponsesOptions,
} from "./messages-over-responses/request.ts";
export {
  translateResponsesToMessages,
  type TranslatedResponsesToMessages,
  type TranslateResponsesToMessagesOptions,
} from "./responses-over-messages/request.ts";
export {
  translateChatToMessages,
  type TranslatedChatToMessages,
  type TranslateChatToMessagesOptions,
} from "./chat-over-messages/request.ts";
export {
  repairMessagesRequest,
  type RepairedMessagesRequest,
  type RepairMessagesRequestOptions,
} from "./messages-over-messages/request.ts";
export {
  MessagesOverMessages,
  type MessagesOverMessagesOptions,
} from "./messages-over-messages/stream.ts";
export {
  buildContinuation,
  ContinuedTurn,
  maxContinuations,
  type ContinuedTurnOptions,
} from "./messages-upstream/continued-turn.ts";
export type { MessagesFlags } from "./messages-upstream/messages-flags.ts";
export { findMessagesFlags } from "./messages-upstream/provider-messages-flags.ts";
export type { FieldOutcome } from "./field-report.ts";
export type {
  MessageContentBlock,
  MessageParam,
  MessagesRequest,
  MessageTool,
  MessageToolChoice,
} from "./shapes/messages-request.ts";
export { ReplyBudget, defaultReplyLimits, type ReplyLimits } from "./reply-budget.ts";
export {
  ToolCallAssembler,
  type AssembledCall,
  type ToolCallAssemblerOptions,
  type CallEvent,
} from "./tools/tool-call-assembler.ts";
export {
  collectToolCalls,
  bufferToolCalls,
  type CompleteToolCall,
  type CollectToolCallsOptions,
  type IncompleteToolCall,
  type BufferToolCallsOptions,
} from "./chat-over-chat/tool-calls.ts";
export {
  isToolCallComplete,
  mergeToolCallDelta,
  type ToolCallAccumulator,
} from "./tools/merge-tool-call-delta.ts";
export { AllowedTools } from "./tools/allowed-tools.ts";
export { collectToolSchemas } from "./tools/offer-tools.ts";
export {
  noToolTranslation,
  type DeclaredTool,
  type BuiltInToolKind,
  type ToolTranslation,
} from "./tools/tool-translation.ts";
export type {
  CachedReasoning,
  OpaqueReasoning,
  SealReasoning,
  UnsealReasoning,
} from "./mapping/reasoning.ts";
export {
  buildTokenCount,
  estimateMessagesTokens,
  estimateRequestTokens,
  estimateTokens,
} from "./mapping/estimate-tokens.ts";
export type {
  ChatChunk,
  ChatChunkChoice,
  ChatCompletion,
  ChatCompletionChoice,
  ChatDelta,
  ChatFinishReason,
  ChatStreamEvent,
  ChatReplyMessage,
  ChatReplyToolCall,
  ChatToolCallDelta,
  ErrorBody,
} from "./shapes/chat-reply.ts";
export type {
  ResponseApplyPatchCall,
  ResponseCustomToolCall,
  ResponseFunctionToolCall,
  ResponseImageGenerationCall,
  ResponseItemStatus,
  ResponseLocalShellCall,
  ResponseOutputMessage,
  ResponseOutputContent,
  ResponseOutputItem,
  ResponseReasoningItem,
  ResponseEvent,
  ResponseObject,
  ResponseStatus,
  ResponseUsage,
  ResponseShellCall,
  ResponseToolSearchCall,
  ResponseWebSearchCall,
} from "./shapes/responses-reply.ts";
export { decodeChatRequest } from "./decode/chat-request.ts";
export { decodeResponsesRequest } from "./decode/responses-request.ts";
export {
  translateResponsesRequest,
  type TranslateResponsesRequestOptions,
  type TranslatedResponsesRequest,
} from "./responses-over-chat/request.ts";
export { buildRequestEcho } from "./mapping/response-resource.ts";
export { reasoningEfforts } from "./mapping/reasoning-effort.ts";
export type { LookupReasoning } from "./responses-over-chat/reasoning-replay.ts";
export {
  genericProfile,
  isSentUnchanged,
  withProfileFlags,
  type LeakDialect,
  type UpstreamProfile,
  type ReplyFlags,
} from "./upstream-profile.ts";
export {
  findProviderProfile,
  providerProfileNames,
  providerProfiles,
  type ProviderName,
} from "./provider-profiles.ts";
export type {
  ChatContent,
  ChatContentPart,
  ChatMessage,
  ChatRequest,
  ChatTool,
  ChatToolChoice,
} from "./shapes/chat-request.ts";
export type {
  ResponseInputContent,
  ResponseInputItem,
  ResponsesRequest,
  ResponseTool,
  ResponseToolChoice,
} from "./shapes/responses-request.ts";
