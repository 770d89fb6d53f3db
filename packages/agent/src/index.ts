export { defineAgent, usualLimits, type Agent, type AgentDefinition } from "./agent.ts";
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
export type { Checked, InputSchema, StandardSchema } from "./schemas/input-schema.ts";
export { runTask, type RunningTask, type RunTaskOptions } from "./run-task.ts";
export { Runtime, type Listener, type RuntimeOptions } from "./runtime.ts";
export type { AgentRequest, TaskRequest } from "./task-request.ts";
export { RuntimeError, type RuntimeErrorCode } from "./runtime-error.ts";
export type { Decided } from "./approvals/decisions.ts";
export type { PendingDecision } from "./approvals/pending-decisions.ts";
export type { Price } from "./task/usage.ts";
export type { ModelWaits } from "./model/model-waits.ts";
export { ModelError, type Model, type ModelAbilities, type RoundNotes } from "./model.ts";
export { MemoryLog } from "./log/memory-log.ts";
export { MemoryBlobs } from "./log/blobs.ts";
export type { Variables } from "./variables/variables.ts";
export { callOutput, inputPart } from "./model/history.ts";
export { runInTurns } from "./event-loop.ts";
export { Redactor } from "./redaction/redactor.ts";
export { secretsIn, secretsOfUrl } from "./redaction/secret-values.ts";
export { errorText, redactChat, redactError, redactResponses } from "./redaction/upstream-reply.ts";
export { fetchModel, type FetchModelOptions } from "./model/fetch-model.ts";
export { fetchPublic, type Fetched, type FetchLimits } from "./groups/fetch-public.ts";
export { filesGroup, type FilesOptions } from "./groups/files.ts";
export { allowEntryProblem } from "./groups/allowed-command.ts";
export type { ProtectedPath } from "./groups/protected-files.ts";
export { shellDefaults, shellGroup, type ShellOptions } from "./groups/shell.ts";
export { timeGroup } from "./groups/time.ts";
export { webDefaults, webGroup, type WebOptions } from "./groups/web.ts";
export { connectMcp } from "./mcp/connect.ts";
export type { McpServer, McpToolGroup } from "./mcp/server.ts";
export { Chats } from "./chats/chats.ts";
export type { Exported, ExportFormat } from "./chats/chat-files.ts";
export { ChatError, type ChatErrorCode } from "./chats/chat-error.ts";
export type {
  AgentFacts,
  Changed,
  ChangedByEdits,
  ChatDefaults,
  ChatsOptions,
  ModelFacts,
  Sent,
  Stopped,
} from "./chats/chat-ports.ts";
export type { Asking } from "./chats/ask-question.ts";
export type { EditRequest, SendRequest } from "./chats/sending.ts";
export type { Skill } from "./chats/skills.ts";
export { checkOptions } from "./options/model-options.ts";
export { checkTimeZone } from "./chats/system-prompt.ts";
export { checkPrivacyFields } from "./privacy/check-fields.ts";
export { maskedModel } from "./privacy/masked-model.ts";
export { maskedTool } from "./privacy/masked-tool.ts";
export { PrivacyError, type PrivacyErrorCode } from "./privacy/privacy-error.ts";
export { privacyRule } from "./privacy/masked-request.ts";
export { Vault } from "./privacy/vault.ts";
