export { canonicalJson, type JsonObject, type JsonValue } from "./json.ts";
export { assertNever, TaskError, type TaskErrorCode } from "./error.ts";
export {
  isTaskEvent,
  protocolVersion,
  type DoneItem,
  type ToolEffect,
  type ItemPatch,
  type ProgressReport,
  type Snapshot,
  type EventEnvelope,
  type StreamEvent,
  type TaskEvent,
  type TaskEventBody,
  type TaskEventType,
} from "./events.ts";
export type {
  Annotation,
  Approval,
  ApprovalKind,
  ApprovalScope,
  AudioBlock,
  Block,
  ContentPart,
  DataBlock,
  ApprovalDecision,
  ExpandedArguments,
  FileBlock,
  ImageBlock,
  InputItem,
  ItemStatus,
  TaskLimits,
  MessageItem,
  CallOutcome,
  OutputItem,
  ReasoningItem,
  Reference,
  ApprovalResolution,
  RetractedItem,
  SummaryText,
  TaskFailure,
  TaskInfo,
  TaskStatus,
  TextBlock,
  ToolCallItem,
  ToolResultItem,
  Usage,
} from "./items.ts";
export type {
  ToolExecution,
  TaskApproval,
  TaskInput,
  TaskReference,
  TaskRetry,
  TaskWarning,
  TaskState,
  TaskTree,
  TaskView,
} from "./state.ts";
export {
  parseBlobHash,
  blobPath,
  findBlobHashes,
  isBlobHash,
  scopeBlobs,
  type BlobStore,
  type StoredBlob,
} from "./blobs.ts";
export { mediaTypeEssence, parseDataUrl, type DataUrl } from "./data-url.ts";
export type {
  ClaimOptions,
  MessageBus,
  TaskCommand,
  TaskInbox,
  TaskLease,
  TaskLeases,
} from "./cluster.ts";
export type {
  AppendOptions,
  Grant,
  LogEntry,
  LogRow,
  StoreErrorCode,
  TaskCreation,
  TaskLog,
} from "./task-log.ts";
export { hasEnded, statusFromEventType, taskStatuses } from "./task-status.ts";
export {
  callProgressKey,
  modelProgressKey,
  toProgressChange,
  type ProgressChange,
} from "./progress.ts";
export { removeAnnotatedMarkers } from "./rewrite-citation-markers.ts";
export {
  annotateCitations,
  CitationAnnotator,
  type AnnotatedText,
} from "./markdown/citation-annotator.ts";
export { emptyTree, reduce, Reducer } from "./reducer.ts";
export { didYouMean, findClosestMatch } from "./did-you-mean.ts";
export { sha256 } from "./sha256.ts";
export { createSnapshot, snapshotToTree, reuseItems } from "./snapshot.ts";
export { computeStateHash } from "./state-hash.ts";
export { addUsage, noUsage, roundCost } from "./usage.ts";
export { buildTaskView } from "./task-view.ts";
export { withContent } from "./content.ts";
export {
  SurrogateJoiner,
  quoteExcerpt,
  toWellFormed,
  toWellFormedJson,
  trimSplitSurrogates,
} from "./well-formed.ts";
export {
  ReferencePool,
  removeMarkers,
  removeReferences,
  findWrappedNumbers,
  type CitedGroup,
  type EarlierReferences,
} from "./reference-pool.ts";
export {
  normalizeToolOutput,
  type ToolGroupFields,
  type ToolBlock,
  type ToolOutput,
  type ToolPart,
} from "./tool-output.ts";
export { coalesce, joinEvents } from "./coalesce-events.ts";
export { encodeTaskEvent } from "./sse.ts";
export { createTaskStore, type TaskStore, type TaskStoreOptions } from "./task-store.ts";
export type { ConnectTask, FollowTaskOptions, TaskStreamHandlers } from "./task-follower.ts";
export {
  EventClient,
  type TaskCursor,
  type EventClientOptions,
  type EventsRequest,
  type EventTransport,
} from "./connection/event-client.ts";
export {
  createFetchTransport,
  type FetchTransportOptions,
  type FetchPlatform,
} from "./connection/fetch-transport.ts";
export {
  backoffMs,
  type ConnectionInfo,
  type ConnectionState,
  type Schedule,
  type StreamHost,
} from "./connection/reconnecting-stream.ts";
export {
  getApprovedArguments,
  hashArguments,
  getChangedArguments,
  hashExpandedArguments,
} from "./arguments-hash.ts";
export type { ContentEndOptions, ItemEndOptions } from "./item-context.ts";
export { MessageWriter, ToolResultWriter } from "./item-writers.ts";
export { ReasoningWriter, ToolCallWriter } from "./model-item-writers.ts";
export type { RuleName } from "./rules/rule-violation.ts";
export {
  LogValidator,
  validateLog,
  type RuleViolation,
  type ValidatorOptions,
} from "./validator.ts";
export { TaskWriter, type TreeWriterOptions } from "./task-writer.ts";
export { TreeWriter, type NewTaskInfo } from "./tree-writer.ts";
export type {
  UiChunk,
  UiData,
  UiFinishReason,
  UiMetadata,
  UiSubtask,
} from "./ui-messages/chunks.ts";
export {
  areApprovalsAnswered,
  parseUiInput,
  type UiApproval,
  type UiHistoryMessage,
  type UiHistoryPart,
  type UiInput,
} from "./ui-messages/parse-ui-input.ts";
export { UiMessageStream, type UiMessageStreamOptions } from "./ui-messages/ui-message-stream.ts";
