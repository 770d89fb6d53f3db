export {
  connect,
  connectTranslators,
  type ClientTranslator,
  type StreamEnd,
  type StreamMachine,
} from "./machine.ts";
export { WireError, type WireErrorCode } from "./error.ts";
export { asText, isObject, parseJson, type JsonObject, type JsonValue } from "./json.ts";
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
  chatError,
  errorObject,
  reportsError,
  unreachableReasons,
  unexplainedFailure,
  upstreamFailure,
  type UpstreamFailure,
} from "./mapping/upstream-error.ts";
export {
  SseDecoder,
  type SseDecoderOptions,
  type SseEvent,
  type Utf8Decoder,
} from "./sse/decoder.ts";
export { encodeSse, sseDone, sseKeepAlive } from "./sse/encoder.ts";
export { encodeChatOutput, encodeResponseEvent } from "./sse/wire-events.ts";
export { ChatBody } from "./chat-upstream/body.ts";
export { errorIn } from "./chat-upstream/choices.ts";
export type { ReplyBodyOptions } from "./reply-body.ts";
export { UpstreamReply } from "./upstream-reply.ts";
export {
  chatOfChat,
  chatOfResponse,
  responseOfChat,
  responseOfResponse,
} from "./complete-reply.ts";
export { ChunkReader, type ChatInput } from "./chat-upstream/chunk-reader.ts";
export { ResponsesOverChat, type ResponsesOverChatOptions } from "./responses-over-chat/stream.ts";
export { ChatOverChat, type ChatOverChatOptions } from "./chat-over-chat/stream.ts";
export {
  mendedChatRequest,
  type MendedChatRequest,
  type MendedChatRequestOptions,
} from "./chat-over-chat/request.ts";
export { ResponsesBody, type ResponsesInput } from "./responses-upstream/body.ts";
export { ChatOverResponses, type ChatOverResponsesOptions } from "./chat-over-responses/stream.ts";
export {
  responsesRequest,
  type ResponsesRequestOptions,
  type TranslatedChatRequest,
} from "./chat-over-responses/request.ts";
export {
  ResponsesOverResponses,
  type ResponsesOverResponsesOptions,
} from "./responses-over-responses/stream.ts";
export {
  mendedResponsesRequest,
  type MendedResponsesRequest,
  type MendedResponsesRequestOptions,
} from "./responses-over-responses/request.ts";
export type { ResponsesFlags } from "./responses-upstream/request-flags.ts";
export { mendHistory, refusesHistory, type MendHistoryOptions } from "./history.ts";
export {
  ChatCollector,
  collectChat,
  collectResponse,
  ResponseCollector,
  type CollectedChat,
} from "./collect.ts";
export { ReplyBudget, replyLimits, type ReplyLimits } from "./reply-budget.ts";
export {
  ToolCallAssembler,
  type AssembledCall,
  type AssemblerOptions,
  type CallEvent,
} from "./tools/assembler.ts";
export {
  completeToolCalls,
  wholeToolCalls,
  type CompleteToolCall,
  type CompleteToolCallsOptions,
  type IncompleteToolCall,
  type WholeToolCallsOptions,
} from "./chat-over-chat/whole-calls.ts";
export { isComplete, mergeDelta, type GrowingToolCall } from "./tools/merge-delta.ts";
export { toolSchemas } from "./tools/definitions.ts";
export { noTools, type DeclaredTool, type OwnFormKind, type ToolBridge } from "./tools/bridge.ts";
export type { ReasoningCarry, Seal, Unseal } from "./mapping/reasoning.ts";
export { estimateRequestTokens, estimateTokens } from "./mapping/estimate-tokens.ts";
export type {
  ChatChunk,
  ChatChunkChoice,
  ChatCompletion,
  ChatCompletionChoice,
  ChatDelta,
  ChatFinishReason,
  ChatOutput,
  ChatReplyMessage,
  ChatToolCall,
  ChatToolCallDelta,
  ErrorBody,
} from "./shapes/chat-reply.ts";
export type {
  ApplyPatchCallItem,
  CustomToolCallItem,
  FunctionCallItem,
  ImageGenerationCallItem,
  ItemStatus,
  LocalShellCallItem,
  MessageItem,
  MessagePart,
  OutputItem,
  ReasoningItem,
  ResponseEvent,
  ResponseObject,
  ResponseStatus,
  ResponseUsage,
  ShellCallItem,
  ToolSearchCallItem,
} from "./shapes/responses-reply.ts";
export { decodeChatRequest } from "./decode/chat-request.ts";
export { decodeResponsesRequest } from "./decode/responses-request.ts";
export {
  chatRequest,
  type ChatRequestOptions,
  type TranslatedRequest,
} from "./responses-over-chat/request.ts";
export { effortLadder } from "./mapping/effort.ts";
export type { Recall, RecalledReasoning } from "./responses-over-chat/reasoning-replay.ts";
export {
  genericProfile,
  isAsSent,
  withFlags,
  type LeakDialect,
  type Profile,
  type ReplyFlags,
} from "./profiles.ts";
export { profileNamed, profileNames, profiles, type ProviderName } from "./provider-profiles.ts";
export type {
  ChatContent,
  ChatContentPart,
  ChatMessage,
  ChatRequest,
  ChatTool,
  ChatToolChoice,
} from "./shapes/chat-request.ts";
export type {
  ContentPart,
  InputItem,
  ResponsesRequest,
  Tool,
  ToolChoice,
} from "./shapes/responses-request.ts";
