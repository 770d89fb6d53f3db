export { canonicalJson, type JsonObject, type JsonValue } from "./json.ts";
export { TaskError, type TaskErrorCode } from "./error.ts";
export {
  isStored,
  protocolVersion,
  type DoneItem,
  type Effect,
  type ItemPatch,
  type ProgressReport,
  type Snapshot,
  type Stored,
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
  Decision,
  ExpandedArguments,
  FileBlock,
  ImageBlock,
  InputItem,
  ItemStatus,
  Limits,
  MessageItem,
  Outcome,
  OutputItem,
  ReasoningItem,
  Reference,
  Resolution,
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
  Execution,
  TaskApproval,
  TaskInput,
  TaskReference,
  TaskRetry,
  TaskWarning,
  TaskState,
  TaskTree,
  TaskView,
} from "./state.ts";
export { blobHash, blobPath, blobsIn, isBlobHash, type BlobStore } from "./blobs.ts";
export { bareType, readDataUrl, type DataUrl } from "./data-url.ts";
export type { Grant, LogEntry, LogRow, StoreErrorCode, TaskLog } from "./log.ts";
export { hasEnded, statusAfter, taskStatuses } from "./task-status.ts";
export {
  callProgressKey,
  modelProgressKey,
  progressChange,
  type ProgressChange,
} from "./progress.ts";
export { withoutAnnotated } from "./markers.ts";
export { annotate, Annotator, type Annotated } from "./markdown/annotator.ts";
export { emptyTree, reduce, Reducer } from "./reducer.ts";
export { didYouMean, nearest } from "./nearest.ts";
export { sha256 } from "./sha256.ts";
export { snapshotOf, treeOf, withItemsOf } from "./snapshot.ts";
export { stateHash } from "./state-hash.ts";
export { addUsage, noUsage, roundedCost } from "./usage.ts";
export { taskView } from "./view.ts";
export { withContent } from "./content.ts";
export {
  PairJoiner,
  quoted,
  toWellFormed,
  wellFormedJson,
  wholeCharacters,
} from "./well-formed.ts";
export {
  ReferencePool,
  withoutMarkers,
  withoutReferences,
  wrappedNumbers,
  type CitedGroup,
  type EarlierNumbers,
} from "./references.ts";
export {
  normalizeToolOutput,
  type Grouped,
  type ToolBlock,
  type ToolOutput,
  type ToolPart,
} from "./tool-output.ts";
export { coalesce, joinEvents } from "./coalesce.ts";
export { encodeTaskEvent } from "./sse.ts";
export { createTaskStore, type TaskStoreClient, type TaskStoreOptions } from "./task-store.ts";
export type { Connect, FollowOptions, StreamHandlers } from "./task-follower.ts";
export {
  EventClient,
  type Cursor,
  type EventClientOptions,
  type EventsRequest,
  type EventTransport,
} from "./connection/event-client.ts";
export {
  eventsOverFetch,
  type FetchEventsOptions,
  type FetchPlatform,
} from "./connection/fetch-events.ts";
export {
  backoff,
  type ConnectionInfo,
  type ConnectionState,
  type Schedule,
  type StreamHost,
} from "./connection/reconnecting-stream.ts";
export {
  approvedArguments,
  argumentsHash,
  changedArguments,
  expandedHash,
} from "./arguments-hash.ts";
export type { ContentEnd, ItemEnd } from "./item-context.ts";
export { MessageWriter, ToolResultWriter } from "./item-writers.ts";
export { ReasoningWriter, ToolCallWriter } from "./model-item-writers.ts";
export type { RuleName } from "./rules/rule-broken.ts";
export { LogValidator, validateLog, type Broken, type ValidatorOptions } from "./validator.ts";
export { TaskWriter, type TreeWriterOptions } from "./task-writer.ts";
export { TreeWriter, type NewTask } from "./tree-writer.ts";
export type {
  UiChunk,
  UiData,
  UiFinishReason,
  UiMetadata,
  UiSubtask,
} from "./ui-messages/chunks.ts";
export {
  approvalsAreAnswered,
  uiInput,
  type UiApproval,
  type UiHistoryMessage,
  type UiHistoryPart,
  type UiInput,
} from "./ui-messages/input.ts";
export { UiMessageStream, type UiMessageStreamOptions } from "./ui-messages/stream.ts";
