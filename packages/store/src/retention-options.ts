export const minuteMs = 60 * 1000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * 60 * 60 * 1000;
export const megabyte = 1024 * 1024;
/** Minimum age of a blob without references before it is deleted: a blob is stored before the event that refers to it. */
export const blobGraceMs = 60 * 60 * 1000;

/** How long a completed task can be found by the request whose reply was lost. */
export const lostReplyMs = 60 * minuteMs;

/** How long a chat without a title can be claimed after an answer. Older ones are not named once titles are turned on. */
export const maxUntitledMs = 24 * hourMs;

export interface RetentionOptions {
  /** Days to keep tasks after their end. Undefined: forever. */
  retentionDays: number | undefined;
  /** Maximum size of the store, in megabytes. Undefined: no limit. */
  maxMb: number | undefined;
  /** Days during which deleted chats can be restored and the change feed reports removals. */
  deletedDays: number;
}
