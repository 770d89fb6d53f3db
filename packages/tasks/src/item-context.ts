import type { TaskEventBody } from "./events.ts";
import type { ContentPart, ItemStatus } from "./items.ts";
import type { JsonObject, JsonValue } from "./json.ts";

/** What a writer of an item has of its task. */
export interface ItemContext {
  /** Where it stands: the number of items so far. */
  readonly outputIndex: number;
  readonly itemId: string;
  /** Whether `content` is public. */
  readonly includesContent: boolean;
  write(body: TaskEventBody, priv?: JsonObject): void;
}

/** How an item ends. */
export interface ItemEnd {
  /** `completed` unless it says otherwise. */
  status?: ItemStatus;
  private?: JsonObject;
}

export interface ContentEnd extends ItemEnd {
  /** What the model sees: kept in the private part, and public only where the task says so. */
  content?: ContentPart[];
}

/** `completed` goes without saying. */
export function unlessCompleted(status: ItemStatus | undefined): { status?: ItemStatus } {
  return status === undefined || status === "completed" ? {} : { status };
}

export function publicContent(
  context: ItemContext,
  contentOf: () => ContentPart[] | undefined,
): { content?: ContentPart[] } {
  const content = context.includesContent ? contentOf() : undefined;
  return content === undefined ? {} : { content };
}

export function privatePart(end: ContentEnd): JsonObject | undefined {
  if (end.content === undefined) return end.private;
  return { ...end.private, content: end.content as unknown as JsonValue };
}
