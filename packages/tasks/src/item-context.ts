import type { TaskEventBody } from "./events.ts";
import type { ContentPart, ItemStatus } from "./items.ts";
import type { JsonObject, JsonValue } from "./json.ts";

/** What the writer of one item needs from its task. */
export interface ItemContext {
  /** Index of the item in the output. */
  readonly outputIndex: number;
  readonly itemId: string;
  /** True if `content` is part of the public item. */
  readonly includesContent: boolean;
  write(body: TaskEventBody, privateData?: JsonObject): void;
}

/** Options for closing an item. */
export interface ItemEndOptions {
  /** Default: `completed`. */
  status?: ItemStatus;
  private?: JsonObject;
}

export interface ContentEndOptions extends ItemEndOptions {
  /** What the model receives. Stored in the private part; public only if the task includes `content`. */
  content?: ContentPart[];
}

/** Returns the status as a field. `completed` is the default and is omitted. */
export function toStatusField(status: ItemStatus | undefined): { status?: ItemStatus } {
  return status === undefined || status === "completed" ? {} : { status };
}

export function toPublicContent(
  context: ItemContext,
  getContent: () => ContentPart[] | undefined,
): { content?: ContentPart[] } {
  const content = context.includesContent ? getContent() : undefined;
  return content === undefined ? {} : { content };
}

export function toPrivateData(options: ContentEndOptions): JsonObject | undefined {
  if (options.content === undefined) return options.private;
  return { ...options.private, content: options.content as unknown as JsonValue };
}
