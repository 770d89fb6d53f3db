export { defineAgent, defaultLimits, type Agent, type AgentDefinition } from "./agent.ts";
export { defineTool } from "./define-tool.ts";
export type {
  CallPolicy,
  ImageStream,
  Media,
  ResultPolicy,
  StreamedBlock,
  Tool,
  ToolContext,
  ToolDefinition,
  ToolGroup,
  ToolStream,
} from "./tool.ts";
export type { InputCheckResult, InputSchema, StandardSchema } from "./schemas/input-schema.ts";
export { runTask, type RunningTask, type RunTaskOptions } from "./run-task.ts";
export { Runtime, type RuntimeOptions } from "./runtime.ts";
export { StoreClock } from "./cluster/store-clock.ts";
export type { LogHead, TaskListener } from "./cluster/task-delivery.ts";
export type { AgentRequest, TaskRequest } from "./task-request.ts";
export { RuntimeError, type RuntimeErrorCode } from "./runtime-error.ts";
export type { DecisionResult } from "./approvals/decisions.ts";
export type { PendingTaskApproval } from "./approvals/pending-approvals.ts";
export { calculateUsage, type ModelPrice } from "./task/usage.ts";
export type { ModelRetryPolicy } from "./model/model-retry.ts";
export { ModelError, type Model, type ModelCapabilities, type RoundReport } from "./model.ts";
export { MemoryLog } from "./log/memory-log.ts";
export { MemoryBlobs } from "./blobs/memory-blobs.ts";
export type { Variables } from "./variables/variables.ts";
export { toCallOutput, toInputPart } from "./model/task-history.ts";
export { runTimeSliced } from "./event-loop.ts";
export { Redactor } from "./redaction/redactor.ts";
export { findSecretValues, findUrlSecrets } from "./redaction/secret-values.ts";
export {
  redactErrorText,
  createChatReplyRedactor,
  createMessagesReplyRedactor,
  redactError,
  createResponsesReplyRedactor,
} from "./redaction/redact-upstream-reply.ts";
export { createFetchModel, type FetchModelOptions } from "./model/fetch-model.ts";
export {
  fetchPublicUrl,
  type FetchedResource,
  type FetchPublicOptions,
} from "./tool-groups/fetch-public-url.ts";
export { filesGroup, type FilesOptions } from "./tool-groups/files.ts";
export { findAllowlistEntryProblem } from "./tool-groups/command-allowlist.ts";
export type { ProtectedPath } from "./tool-groups/protected-files.ts";
export { shellGroup, type ShellOptions } from "./tool-groups/shell.ts";
export { timeGroup } from "./tool-groups/time.ts";
export { webGroup, type WebOptions } from "./tool-groups/web.ts";
export { connectMcp } from "./mcp/connect.ts";
export type { McpServerConfig, McpToolGroup } from "./mcp/server-config.ts";
export { Chats } from "./chats/chats.ts";
export type { ChatChangeListener } from "./chats/chat-change-feed.ts";
export type { ChatExport, ExportFormat } from "./chats/chat-import-export.ts";
export { ChatError, type ChatErrorCode } from "./chats/chat-error.ts";
export type {
  AgentInfo,
  ChatChangeResult,
  ChatEditResult,
  ChatDefaults,
  ChatsOptions,
  CreateChatOptions,
  ModelInfo,
  NameProblem,
  SendResult,
  StopResult,
} from "./chats/chats-options.ts";
export type { AnswerRequest } from "./chats/start-answer.ts";
export type { EditRequest, SendRequest } from "./chats/chat-actions.ts";
export type { Skill } from "./chats/skills.ts";
export { validateModelOptions } from "./options/model-options.ts";
export { isTimeZone } from "./time-zone.ts";
export { checkPrivacyFields } from "./privacy/check-privacy-fields.ts";
export { createMaskedModel } from "./privacy/masked-model.ts";
export { createMaskedTool } from "./privacy/masked-tool.ts";
export { PrivacyError, type PrivacyErrorCode } from "./privacy/privacy-error.ts";
export { buildPrivacyRule } from "./privacy/mask-request.ts";
export type { PlaceholderStore } from "./privacy/placeholder-table.ts";
export { Vault } from "./privacy/vault.ts";
