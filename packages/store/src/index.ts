export type {
  AccessKey,
  AccessKeyLimits,
  AccessKeyStore,
  NewAccessKey,
  UsagePeriod,
  UsageTotal,
  UsageUnit,
} from "./access-keys.ts";
export type {
  ConversationItem,
  ConversationStore,
  StoredConversation,
} from "./conversation-store.ts";
export type { FileFilter, FileStore, StoredFile } from "./file-store.ts";
export { StoreError } from "./error.ts";
export { openMessageBus, type MessageBusOptions } from "./bus/redis-bus.ts";
export type { S3BucketOptions } from "./bucket/s3-bucket.ts";
export { openStore, type StoreOptions } from "./open-store.ts";
export type { OwnedKind, Store, TaskHead, TaskSummary } from "./store.ts";
export type { LessonFilter, LessonStore, StoredLesson } from "./lesson-store.ts";
export type {
  NewResponse,
  ResponseConversation,
  ResponseEvents,
  ResponseLease,
  ResponseProgress,
  ResponseRun,
  ResponseStore,
  ResponseTurn,
  StoredResponse,
} from "./response-store.ts";
export { checkStore, copyStore, type StoreLocation } from "./store-commands.ts";
export type { CopyProgress } from "./copy/copy-tables.ts";
export type { StoreCheckReport } from "./copy/check-tables.ts";
