import { removeMarkers, type BlobStore } from "@deltawire/tasks";
import { selectContext, findNode, findImages } from "@deltawire/tasks/chats";
import type {
  AnswerVersion,
  Chat,
  ContextEntry,
  UserNode,
  UserVersion,
} from "@deltawire/tasks/chats";
import type { ResponseInputItem, JsonObject } from "@deltawire/wire";
import { toInputPart } from "../model/task-history.ts";
import { withUniqueReferences } from "../model/history-references.ts";
import { formatOmittedNotice, formatUnmaskedNotice } from "./attachment-notices.ts";
import {
  findUrlProblem,
  renderMessageParts,
  noVisionReason,
  type PrivateValueDetector,
} from "./attachments.ts";
import type { ModelCapabilities } from "../model.ts";
import { formatMessageTime } from "./system-prompt.ts";

/** Everything that decides how a chat is rendered for one model. */
export interface ChatHistoryOptions {
  readonly model: string;
  readonly capabilities: ModelCapabilities;
  readonly blobs: BlobStore;
  /** Set if private values are masked. Then there are notices about content that cannot be masked. */
  readonly vault: PrivateValueDetector | undefined;
  /** Id of the active mask. Sealed reasoning from another mask is dropped. */
  readonly maskId: string | undefined;
  /** If set, each message carries its local time in this IANA zone. */
  readonly timeZone: string | undefined;
  /** Number of latest turns to include; 0 includes all. */
  readonly maxTurns: number;
  /** Earlier answers as input items, by version id. Preferred over the displayed text. */
  readonly replays: Readonly<Record<string, readonly unknown[]>>;
}

export interface Rendered<Content> {
  readonly content: Content;
  readonly notices: readonly string[];
}

/**
 * Renders the history before `message` as Responses input items, including calls, results and reasoning. Omits hidden
 * nodes, running answers, and failed answers that no included version continues.
 */
export async function renderChatHistory(
  chat: Chat,
  message: UserNode,
  options: ChatHistoryOptions,
): Promise<Rendered<ResponseInputItem[]>> {
  const entries = selectContext(chat, { upTo: message.node_id, turns: options.maxTurns });
  const historyItems: ResponseInputItem[] = [];
  const notices: string[] = [];
  const usedReferences = new Set<number>();
  for (const entry of entries) {
    if (entry.node.node_id === message.node_id) continue;
    const rendered = await renderEntry(entry, options, usedReferences);
    historyItems.push(...rendered.content);
    notices.push(...rendered.notices);
  }
  return { content: historyItems, notices };
}

/** Renders a user message, the newest one or an earlier one. */
export function renderUserMessage(
  version: UserVersion,
  options: ChatHistoryOptions,
): ReturnType<typeof renderMessageParts> {
  const { capabilities, blobs, vault, timeZone } = options;
  return renderMessageParts(version, {
    capabilities,
    blobs,
    vault,
    ...(timeZone === undefined
      ? {}
      : { timeNote: formatMessageTime(version.created_at, timeZone) }),
  });
}

/**
 * Renders an answer that consists of a version and those that continue it. `usedReferences` contains the
 * reference numbers before the answer; the numbers of the answer are added.
 */
export function renderAnswer(
  versions: readonly AnswerVersion[],
  options: ChatHistoryOptions,
  usedReferences: Set<number>,
): ResponseInputItem[] {
  return versions.flatMap((version) => {
    const replay = options.replays[version.version_id] as readonly ResponseInputItem[] | undefined;
    const items =
      replay === undefined
        ? version.output.flatMap(renderDisplayedItem)
        : withUniqueReferences(replay, usedReferences);
    const hasSameMask = options.maskId === undefined || options.maskId === version.masked_with;
    return [
      ...(hasSameMask ? items : dropEncryptedReasoning(items)),
      ...renderImages(version, options),
    ];
  });
}

/**
 * Sealed reasoning from another mask, or from none, may contain values that are private now and cannot be masked. A call whose
 * reasoning is dropped must not have an id, which would refer to it.
 */
function dropEncryptedReasoning(items: readonly ResponseInputItem[]): ResponseInputItem[] {
  return items.flatMap((item): ResponseInputItem[] => {
    if (item.type === "function_call") {
      const { id: _id, ...call } = item;
      return [call];
    }
    const { encrypted_content: encryptedContent } = item as JsonObject;
    return typeof encryptedContent === "string" ? [] : [item];
  });
}

/**
 * Makes the ids of calls unique. Some servers reuse them in every reply; within a task they are already unique, but not across
 * tasks. Ids are assigned in order, so a call keeps its new id while the history
 * before it is the same.
 */
export function withUniqueCallIds(items: readonly ResponseInputItem[]): ResponseInputItem[] {
  const usedIds = new Set<string>();
  const ids = new Map<string, string>();
  return items.map((item): ResponseInputItem => {
    if (item.type !== "function_call" && item.type !== "function_call_output") return item;
    const { call_id } = item;
    if (typeof call_id !== "string") return item;
    if (item.type === "function_call") ids.set(call_id, findFreeId(call_id, usedIds));
    const id = ids.get(call_id) ?? call_id;
    return id === call_id ? item : { ...item, call_id: id };
  });
}

function findFreeId(id: string, usedIds: Set<string>): string {
  let freeId = id;
  for (let number = 2; usedIds.has(freeId); number += 1) freeId = `${id}_${number}`;
  usedIds.add(freeId);
  return freeId;
}

/** Returns the message that an answer belongs to. */
export function findAnsweredMessage(chat: Chat, answerId: string): UserNode | undefined {
  const parent = findNode(chat, answerId)?.parent ?? null;
  const parentNode = parent === null ? undefined : findNode(chat, parent);
  return parentNode?.kind === "user" ? parentNode : undefined;
}

async function renderEntry(
  entry: ContextEntry,
  options: ChatHistoryOptions,
  usedReferences: Set<number>,
): Promise<Rendered<ResponseInputItem[]>> {
  if (entry.kind === "answer")
    return {
      content: renderAnswer(entry.versions, options, usedReferences),
      notices: collectImageNotices(entry.versions, options),
    };
  const { parts, notices } = await renderUserMessage(entry.version, options);
  return {
    content: [{ type: "message", role: "user", content: parts.map(toInputPart) }],
    notices,
  };
}

/** Renders an item of an answer without a replay, such as one written by the user. Omits citations and their markers. */
function renderDisplayedItem(item: AnswerVersion["output"][number]): ResponseInputItem[] {
  if (item.type !== "message") return [];
  const displayedText = item.block_list
    .map((block) => (block.type === "text" ? block.text : ""))
    .join("");
  const text = removeMarkers(displayedText);
  if (text === "") return [];
  return [{ type: "message", role: "assistant", content: [{ type: "output_text", text }] }];
}

/** Renders the images of an answer as a user message: models do not accept images in their own messages. */
function renderImages(
  version: AnswerVersion,
  { capabilities, vault }: ChatHistoryOptions,
): ResponseInputItem[] {
  const images = capabilities.images ? findImages(version) : [];
  const visibleImages = images.filter(({ url }) => findUrlProblem(url, vault) === undefined);
  if (visibleImages.length === 0) return [];
  const content = visibleImages.map(({ url }) =>
    toInputPart({ type: "image_url", image_url: { url } }),
  );
  const note = { type: "input_text", text: "[Images from the answer above:]" };
  return [{ type: "message", role: "user", content: [note, ...content] }];
}

/** Returns the notices for the images of an answer, without duplicates. */
function collectImageNotices(
  versions: readonly AnswerVersion[],
  { capabilities, vault }: ChatHistoryOptions,
): string[] {
  const notices = versions.flatMap(findImages).flatMap(({ url }) => {
    const problem = capabilities.images ? findUrlProblem(url, vault) : noVisionReason;
    if (problem !== undefined) return [formatOmittedNotice(earlierImageLabel, problem)];
    return vault === undefined ? [] : [formatUnmaskedNotice(earlierImageLabel, "image")];
  });
  return [...new Set(notices)];
}

/** How notices refer to an image that is not attached to the current message. */
export const earlierImageLabel = "image from earlier in this chat";
