export type {
  AnswerError,
  AnswerNode,
  AnswerPhase,
  AnswerStatus,
  AnswerTask,
  AnswerVersion,
  Attachment,
  Chat,
  ChatNode,
  ChatSettings,
  ContextSnippet,
  ModelOptions,
  ModelType,
  PrivacyField,
  PrivacyKind,
  PrivacySettings,
  SeparatorNode,
  UserNode,
  UserVersion,
} from "./chat-types.ts";
export type {
  AnswerEnd,
  ChatEdit,
  EditResult,
  EditEnvironment,
  ModelEdit,
  NewAnswer,
  NewMessage,
  UserEdit,
  EditRejection,
  EditRejectionCode,
  Removal,
  RestoreEdit,
  SendEdit,
} from "./edit.ts";
export type {
  ChatChange,
  ClaimUntitledOptions,
  ListChatsOptions,
  SearchChatsOptions,
  ChatUpdate,
  ChatStore,
  ChatSummary,
  NewChatRecord,
  ChatVariable,
  ChatSearchResult,
  StoredChat,
  Placeholder,
  RunningAnswer,
  SaveChatOptions,
  SearchHit,
} from "./chat-store.ts";
export type {
  AnswerChoiceBody,
  AnswerLocation,
  ApprovalsReply,
  BlobReply,
  ChangeReply,
  ChatChoices,
  ChatFeedEvent,
  ChatListReply,
  ChatReply,
  ChatSearchReply,
  ChatUpdateReply,
  DecisionReply,
  DecisionBody,
  DefaultSettings,
  EditBody,
  EditsBody,
  EditsReply,
  ExtractBody,
  ImportReply,
  InputDelivery,
  InputReply,
  ModelChoice,
  NewChatBody,
  NodeBody,
  PendingApproval,
  RemovalsReply,
  RemovalSummary,
  SendBody,
  SendReply,
  StopBody,
  StopReply,
  TagsReply,
  UndoBody,
  VariablesReply,
} from "./api-types.ts";
export { countMessages, maxChatBytes, maxChatFileValues, maxMessages } from "./chat-limits.ts";
export { toAnswerError, toAnswerStatus, toAnswerTask, toAnswerTree } from "./answer-task.ts";
export { applyEdit, applyEdits, type AddedNode, type EditsResult } from "./apply-edit.ts";
export { sumChatUsage } from "./chat-usage.ts";
export { findCitableAnswers, type AnswerNodeVersion } from "./citable-answers.ts";
export { selectContext, type ContextEntry } from "./select-context.ts";
export { extractSubtree } from "./extract-subtree.ts";
export { createChat } from "./create-chat.ts";
export {
  getAnswerChain,
  getChosenVersion,
  currentPath,
  lastNodeOnPath,
  nextNodeOnPath,
  findNode,
  pathTo,
  collectSubtree,
} from "./chat-path.ts";
export { isOutdated, findOutdatedNodes } from "./outdated-nodes.ts";
export { isRunning, findRunningAnswers, findRunningVersions } from "./running-answers.ts";
export {
  integer,
  issuePath,
  readonlyArray,
  strictObject,
  looseObject,
  optionalFields,
  parseValue,
} from "./schema-builders.ts";
export {
  attachmentSchema,
  chatSettingsSchema,
  checkMessage,
  checkSettings,
  checkTags,
  checkTitle,
  contextSnippetSchema,
  limitsSchema,
  maxMessageCharacters,
  modelOptionsSchema,
  userEditSchema,
  applySettingsPatch,
  type NewChatInput,
} from "./chat-schemas.ts";
export {
  cancelBody,
  decisionBody,
  editBody,
  editsBody,
  extractBody,
  resourceName,
  newChatBody,
  nodeBody,
  sendBody,
  stopBody,
  taskInputSchema,
  taskInputBody,
  undoBody,
  type TaskInputBody,
} from "./request-bodies.ts";
export { getOpeningText, summarizeRemoval, summarizeChat } from "./chat-summary.ts";
export {
  buildCallRecords,
  computeChainStats,
  mergeWarnings,
  findChildTask,
  toCallError,
  countToolRounds,
  type CallError,
  type CallRecord,
  type ChainStats,
} from "./tool-chain.ts";
export { upgradeNode, upgradeRemoval } from "./upgrade-answer.ts";
export { upgradeChatSettings } from "./upgrade-settings.ts";
export { findChatFaults } from "./validate-chat.ts";
export { findImages, getVersionText } from "./version-text.ts";
export { chatToGlued, toGluedAnswer } from "./import-export/glued.ts";
export type { GluedAnswer, GluedChain, GluedMessage, GluedPayload } from "./import-export/glued.ts";
export { chatToHtml, chatToHtmlSteps, type HtmlOptions } from "./import-export/html.ts";
export { importChats, importChatsSteps } from "./import-export/parse-chat-file.ts";
export type {
  BlobReader,
  FileBlob,
  ImportResult,
  ImportedChat,
  ImportEnvironment,
} from "./import-export/import-types.ts";
export {
  chatsFromJson,
  chatToJson,
  type ChatFile,
  type ChatToJsonOptions,
} from "./import-export/json.ts";
export { chatToMarkdown, chatToMarkdownSteps } from "./import-export/markdown.ts";
export { chatsFromOpenAi } from "./import-export/openai-import.ts";
export {
  chatToOpenAi,
  type OpenAiMessage,
  type OpenAiToolCall,
} from "./import-export/openai-export.ts";
export type { OpenAiPart } from "./import-export/openai-parts.ts";
export { applyChatPatch, diffChats, type ChatPatch } from "./import-export/chat-patch.ts";
export {
  ChatClient,
  createChatClient,
  type RequestOptions,
  type ChatClientOptions,
  type ChatExportFormat,
  type ListChatsQuery,
  type ExportedFile,
  type FetchLike,
  type FetchResponse,
  type FetchRequest,
} from "./chat-client.ts";
export { ChatApiError } from "../api-error.ts";
export {
  followChats,
  type ChatFeedHandlers,
  type ConnectChats,
  type FollowChatsOptions,
  type ChatFeedSubscription,
} from "./follow-chats.ts";
