import { blobPath, type ContentPart, type OutputItem, type TaskState } from "@deltawire/tasks";
import type {
  ResponseInputContent as WirePart,
  ResponseInputItem,
  JsonObject,
} from "@deltawire/wire";
import { findOpenCalls, getUnretractedItems } from "../task/task-items.ts";
import type { PrivateItem, PrivateRecords } from "../log/private-records.ts";

/** Renders the input of the next round: the earlier conversation, the user's message and all items of the task so far. */
export function renderTaskHistory(
  state: TaskState,
  privateRecords: PrivateRecords,
): ResponseInputItem[] {
  const { history = [], content = [] } = privateRecords.request(state.task_id) as StoredRequest;
  const compaction = privateRecords.compaction(state.task_id);
  const startIndex = compaction?.from_index ?? 0;
  const input: ResponseInputItem[] = content.length > 0 ? [toUserMessage(content)] : [];
  if (compaction === undefined) input.unshift(...history);
  else {
    const summary = toUserMessage([toSummaryPart(compaction.summary)]);
    // A summary of the earlier conversation precedes the request; one of the task's own items follows it.
    if (startIndex === 0) input.unshift(summary);
    else input.push(summary);
  }
  const ids = new ModelCallIds(state, privateRecords, compaction === undefined ? history : []);
  return [...input, ...renderItems(startIndex, state, privateRecords, ids)];
}

/**
 * Renders the items of a task for the history of a later turn, exactly as the model saw them. Omits the task's request, which
 * is already in the history, and calls that have no result yet.
 */
export function renderTranscript(
  state: TaskState,
  privateRecords: PrivateRecords,
): ResponseInputItem[] {
  const { history = [] } = privateRecords.request(state.task_id) as StoredRequest;
  const openCallIds = new Set<string>(findOpenCalls(state).map(({ id }) => id));
  const isIncluded = ({ id }: { id: string }): boolean => !openCallIds.has(id);
  return renderItems(
    0,
    state,
    privateRecords,
    new ModelCallIds(state, privateRecords, history),
    isIncluded,
  );
}

/** Renders the items from an index on, with the user's later messages at the positions where the model received them. */
function renderItems(
  startIndex: number,
  state: TaskState,
  privateRecords: PrivateRecords,
  ids: ModelCallIds,
  isIncluded: (item: OutputItem) => boolean = () => true,
): ResponseInputItem[] {
  const items: ResponseInputItem[] = [];
  let followsEncryptedReasoning = false;
  const inputs = state.inputs.filter(
    ({ taken_at }) => taken_at !== undefined && taken_at >= startIndex,
  );
  for (let index = startIndex; index <= state.output.length; index += 1) {
    for (const { item, taken_at } of inputs)
      if (taken_at === index) items.push(toUserMessage(item.content));
    const item = state.output[index];
    if (item === undefined || item.type === "retracted" || !isIncluded(item)) continue;
    const privateItem = privateRecords.item(item.id);
    if (item.type === "reasoning") followsEncryptedReasoning = hasEncryptedReasoning(privateItem);
    else if (item.type === "tool_result") followsEncryptedReasoning = false;
    const inputItem = toInputItem(item, privateItem, ids, followsEncryptedReasoning);
    if (inputItem !== undefined) items.push(inputItem);
  }
  return items;
}

interface StoredRequest {
  history?: ResponseInputItem[];
  content?: ContentPart[];
}

function toUserMessage(content: readonly ContentPart[]): ResponseInputItem {
  return { type: "message", role: "user", content: content.map(toInputPart) };
}

function toSummaryPart(summary: string): ContentPart {
  return { type: "text", text: `What has happened so far, in short:\n\n${summary}` };
}

function toInputItem(
  item: OutputItem,
  privateItem: PrivateItem,
  ids: ModelCallIds,
  followsEncryptedReasoning: boolean,
): ResponseInputItem | undefined {
  switch (item.type) {
    case "reasoning":
      return privateItem.model_item as ResponseInputItem | undefined;
    case "message": {
      const text = item.block_list
        .map((block) => (block.type === "text" ? block.text : ""))
        .join("");
      if (text === "") return undefined;
      return { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
    }
    case "tool_call":
      return {
        type: "function_call",
        call_id: ids.toModelId(item.call_id),
        name: item.name,
        arguments: item.arguments === "" ? "{}" : item.arguments,
        ...(followsEncryptedReasoning ? pickModelItemId(privateItem) : {}),
      };
    case "tool_result":
      if (item.status === "in_progress") return undefined;
      return {
        type: "function_call_output",
        call_id: ids.toModelId(item.call_id),
        output: toCallOutput(privateItem.content ?? []),
      };
    default:
      return undefined;
  }
}

/** True if the server can use the reasoning again. Other reasoning is dropped from the request, here or in the gateway. */
function hasEncryptedReasoning({ model_item }: PrivateItem): boolean {
  const encryptedContent = model_item?.["encrypted_content"];
  return typeof encryptedContent === "string" && encryptedContent !== "";
}

/**
 * OpenAI matches a call with the encrypted reasoning before it by the id of the call item. Without that, the item would get
 * another id in each turn, which would invalidate the prompt cache.
 */
function pickModelItemId({ model_item }: PrivateItem): JsonObject {
  const id = model_item?.["id"];
  return typeof id === "string" ? { id } : {};
}

/** Returns a string if the content is only text, because some servers support nothing else. */
export function toCallOutput(content: readonly ContentPart[]): string | WirePart[] {
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  return texts.length === content.length ? texts.join("\n") : content.map(toInputPart);
}

/** Converts a content part to the Responses wire. */
export function toInputPart(part: ContentPart): WirePart {
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text };
    case "image_url":
      return { type: "input_image", image_url: part.image_url.url };
    case "audio_url": {
      const { url } = part.audio_url;
      // Audio must be inline, because servers do not fetch it.
      if (!url.startsWith(blobPath) && !url.startsWith("data:"))
        return { type: "input_text", text: `[audio: ${url}]` };
      return { type: "input_audio", input_audio: { url } };
    }
    case "file_url": {
      const { filename } = part;
      const { url } = part.file_url;
      const filenameField = filename === undefined ? {} : { filename };
      return url.startsWith("data:")
        ? { type: "input_file", filename: "file", ...filenameField, file_data: url }
        : { type: "input_file", file_url: url, ...filenameField };
    }
    default:
      return { type: "input_text", text: "" };
  }
}

/** Shorter ids may repeat: some servers number the calls of each reply from 0. */
const minIdLength = 6;

/**
 * Maps our call ids to those that the server assigned. The server's ids are sent back, so that its cache and its reasoning
 * match, unless they are too short to be unique or two calls have the same one; then our own, unique ids are sent.
 */
class ModelCallIds {
  readonly #modelIds = new Map<string, string>();

  constructor(
    state: TaskState,
    privateRecords: PrivateRecords,
    history: readonly ResponseInputItem[],
  ) {
    const usedIds = new Set(history.map((item) => (item as JsonObject)["call_id"]));
    for (const item of getUnretractedItems(state, 0)) {
      if (item.type !== "tool_call") continue;
      const modelId = privateRecords.item(item.id).model_item?.["call_id"];
      if (typeof modelId !== "string" || modelId.length < minIdLength || usedIds.has(modelId))
        continue;
      usedIds.add(modelId);
      this.#modelIds.set(item.call_id, modelId);
    }
  }

  toModelId(callId: string): string {
    return this.#modelIds.get(callId) ?? callId;
  }
}
