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
} from "./shapes.ts";
export type {
  AnswerEnd,
  ChatEdit,
  Edited,
  EditWorld,
  ModelEdit,
  NewAnswer,
  NewMessage,
  PersonEdit,
  Refusal,
  RefusalCode,
  Removal,
  RestoreEdit,
  SendingEdit,
} from "./edit.ts";
export type {
  ChatChange,
  ChatListOptions,
  ChatSince,
  ChatStore,
  ChatSummary,
  ChatToCreate,
  ChatVariable,
  FoundChat,
  KeptChat,
  Placeholder,
  RunningAnswer,
  SaveMore,
  SearchHit,
} from "./chat-store.ts";
export type {
  AnswerChoiceBody,
  AnswerPlace,
  ApprovalsReply,
  BlobReply,
  ChangedReply,
  ChatChoices,
  ChatFeedEvent,
  ChatListReply,
  ChatReply,
  ChatSearchReply,
  ChatSinceReply,
  DecidedReply,
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
  SentReply,
  StopBody,
  StoppedReply,
  TagsReply,
  UndoBody,
  VariablesReply,
} from "./api.ts";
export { countMessages, maxChatBytes, maxChatFileValues, maxMessages } from "./chat-limits.ts";
export { answerError, answerStatus, answerTask, answerTree } from "./answer-task.ts";
export { applyEdit, applyEdits, type Added, type EditedByAll } from "./apply-edit.ts";
export { chatUsage } from "./chat-usage.ts";
export { citedAnswers, type CitedAnswer } from "./cited-answer.ts";
export { contextOf, type ContextEntry } from "./context.ts";
export { extractSubtree } from "./extract.ts";
export { newChat } from "./new-chat.ts";
export {
  answerChain,
  chosenVersion,
  currentPath,
  lastOnPath,
  nextOnPath,
  nodeOf,
  pathTo,
  subtreeOf,
} from "./path.ts";
export { isOutdated, outdatedNodes } from "./outdated.ts";
export { isRunning, runningAnswers, runningVersions } from "./running.ts";
export {
  integer,
  issuePath,
  list,
  object,
  openObject,
  optionalFields,
  parseValue,
} from "./schema.ts";
export {
  attachment,
  chatSettings,
  checkMessage,
  checkSettings,
  checkTags,
  checkTitle,
  contextSnippet,
  limits,
  maxMessageCharacters,
  modelOptions,
  personEdit,
  settingsAfter,
  type NewChat,
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
  taskInput,
  taskInputBody,
  undoBody,
  type TaskInputBody,
} from "./bodies.ts";
export { firstWords, removalSummary, summaryOf } from "./summary.ts";
export {
  callRecords,
  chainStats,
  chainWarnings,
  childTask,
  taskError,
  toolRounds,
  type CallError,
  type CallRecord,
  type ChainStats,
} from "./tool-chain.ts";
export { upgradeNode, upgradeRemoval } from "./upgrade-answer.ts";
export { chatFaults } from "./validate-chat.ts";
export { picturesIn, wordsOf } from "./words.ts";
export { chatToGlued, gluedAnswer } from "./in-out/glued.ts";
export type { GluedAnswer, GluedChain, GluedMessage, GluedPayload } from "./in-out/glued.ts";
export { chatToHtml, chatToHtmlSteps, type HtmlOptions } from "./in-out/html.ts";
export { importChats, importChatsSteps } from "./in-out/import-any.ts";
export type {
  BlobReader,
  FileBlob,
  Imported,
  ImportedChat,
  ImportWorld,
} from "./in-out/imported.ts";
export { chatsFromJson, chatToJson, type ChatFile, type ChatToJson } from "./in-out/json.ts";
export { chatToMarkdown, chatToMarkdownSteps } from "./in-out/markdown.ts";
export { chatsFromOpenAi } from "./in-out/openai-import.ts";
export { chatToOpenAi, type OpenAiMessage, type OpenAiToolCall } from "./in-out/openai-messages.ts";
export type { OpenAiPart } from "./in-out/openai-parts.ts";
export { applyPatch, patchBetween, type ChatPatch } from "./in-out/patch.ts";
export {
  ChatClient,
  createChatClient,
  type AskOptions,
  type ChatClientOptions,
  type ChatExportFormat,
  type ChatPage,
  type ExportedFile,
  type FetchLike,
  type FetchReply,
  type FetchRequest,
} from "./client.ts";
export { ChatApiError } from "../api-error.ts";
export {
  followChats,
  type ChatsHandlers,
  type ConnectChats,
  type FollowChatsOptions,
  type FollowedChats,
} from "./follow-chats.ts";
